#include "harness/server/internal/tls.h"

#include <boost/asio/ssl/context.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "harness/server/internal/http_connection.h"

namespace lodestep::harness {

struct Tls::Impl {
  boost::asio::ssl::context context{boost::asio::ssl::context::tls_server};
};

Tls::Tls() : impl_(std::make_unique<Impl>()) {}
Tls::~Tls() = default;

Result<std::unique_ptr<Tls>> Tls::load(const std::string& cert, const std::string& key) {
  std::unique_ptr<Tls> tls(new Tls);
  boost::system::error_code error;
  auto& context = tls->impl_->context;
  context.set_options(boost::asio::ssl::context::default_workarounds | boost::asio::ssl::context::no_sslv3 |
                          boost::asio::ssl::context::no_tlsv1 | boost::asio::ssl::context::no_tlsv1_1,
                      error);
  context.use_certificate_chain_file(cert, error);
  if (error)
    return lodestep::Error{ErrorCode::kInvalidArgument, "cannot use the certificate: " + error.message(),
                           cert, "--tls-cert takes a PEM file"};
  context.use_private_key_file(key, boost::asio::ssl::context::pem, error);
  if (error)
    return lodestep::Error{ErrorCode::kInvalidArgument, "cannot use the private key: " + error.message(), key,
                           "--tls-key takes the PEM file of the certificate's key"};
  return tls;
}

void Tls::start(boost::asio::ip::tcp::socket socket, std::string client, IoLoop& loop, Shared& shared) {
  using Stream = boost::beast::ssl_stream<boost::asio::ip::tcp::socket>;
  Stream stream(std::move(socket), impl_->context);
  std::make_shared<HttpConnection<Stream>>(std::move(stream), std::move(client), loop, shared)->start();
}

}  // namespace lodestep::harness
