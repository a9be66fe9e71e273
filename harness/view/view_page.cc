// The viewer's page with a document in it. web/viewer.html is embedded at build time.
#include <cstddef>

#include "base/check.h"
#include "harness/view/view_document.h"

namespace lodestep::harness {

extern const unsigned char kViewerPage[];  // made from web/viewer.html by cmake/embed.cmake
extern const std::size_t kViewerPage_size;

std::string view_page(std::string_view document) {
  const std::string_view page(reinterpret_cast<const char*>(kViewerPage), kViewerPage_size);
  constexpr std::string_view kPlace = "id=\"document\">";
  const std::size_t place = page.find(kPlace);
  LODESTEP_CHECK(place != std::string_view::npos);
  std::string out;
  out.reserve(page.size() + document.size());
  out.append(page.substr(0, place + kPlace.size()))
      .append(document)
      .append(page.substr(place + kPlace.size()));
  return out;
}

}  // namespace lodestep::harness
