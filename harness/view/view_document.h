// A recording as one compact JSON document: what the viewer shows. docs/viewer.md describes the fields.
//   Result<std::string> document = view_document("run.db", recording);
//   write_file("out.html", view_page(*document));
// Threads: pure functions of const data. Columns instead of rows, and every text once: 50,000 steps are read
// in a second.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "harness/recording.h"

namespace lodestep::harness {

// Never contains '<', so that it can stand inside a <script> element. When no stored estimate has nodes, the
// graph of exact states is made for it. Fails when the estimates do not fit the steps.
Result<std::string> view_document(const std::string& name, const Recording& recording);

// The viewer as one self-contained HTML page. An empty document gives the bare page.
std::string view_page(std::string_view document);

// Both in one: the page of the recording that was read from `path`.
Result<std::string> view_recording(const std::string& path, const Recording& recording);

}  // namespace lodestep::harness
