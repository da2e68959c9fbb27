/** What an operator reads of a connection that was not made, or broke: never the text of the error, which may quote what is secret. */
import { expect, it } from "vitest";
import { OutboundFault, toFailure } from "../../../lib/notifications/outbound/fault.ts";

const untrusted = "the certificate is not trusted";
const unknownName = "the name of the host is not known";
const noLookup = "the name of the host could not be looked up";
const brokenOff = "the other side broke the connection off";

it.each([
  ["ECONNREFUSED", "the connection was refused"],
  ["ECONNRESET", brokenOff],
  ["EPIPE", brokenOff],
  ["ETIMEDOUT", "no connection could be made in time"],
  ["EHOSTUNREACH", "the host can't be reached"],
  ["ENETUNREACH", "the network can't be reached"],
  ["ENOTFOUND", unknownName],
  ["ENODATA", unknownName],
  ["EAI_AGAIN", noLookup],
  ["ESERVFAIL", noLookup],
  ["EREFUSED", noLookup],
  ["ETIMEOUT", noLookup],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "the certificate is of another host"],
  ["CERT_HAS_EXPIRED", "the certificate has expired"],
  ["CERT_NOT_YET_VALID", "the certificate is not valid yet"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", untrusted],
  ["SELF_SIGNED_CERT_IN_CHAIN", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", untrusted],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", untrusted],
  ["HPE_INVALID_CONSTANT", "the answer is not HTTP"],
  ["ERR_HTTP_INVALID_HEADER_VALUE", "the answer is not HTTP"],
  ["EPROTO", "TLS could not be agreed"],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "TLS could not be agreed"],
  ["ERR_TLS_HANDSHAKE_TIMEOUT", "TLS could not be agreed"],
  ["ERR_OSSL_UNSUPPORTED", "TLS could not be agreed"],
  ["EMFILE", "the connection failed (EMFILE)"],
  [`E${"X".repeat(40)}`, `the connection failed (E${"X".repeat(40)})`],
  [`E${"X".repeat(41)}`, "the connection failed"],
  ["MY_HPE_1", "the connection failed (MY_HPE_1)"],
  ["MY_ERR_SSL", "the connection failed (MY_ERR_SSL)"],
  ["E", "the connection failed"],
  ["10.0.0.7 said: secret", "the connection failed"],
  ["EBAD secret", "the connection failed"],
  ["the EBAD", "the connection failed"],
  ["", "the connection failed"],
  [7, "the connection failed"],
  [undefined, "the connection failed"],
])("an error with the code %s is told as '%s'", (code, error) => {
  const thrown = Object.assign(new Error("10.0.0.7 said: secret"), { code });
  expect(toFailure(thrown)).toEqual({ ok: false, error, permanent: false });
});

it.each([null, undefined, "secret"])("what is no error, such as %s, is told without a reason", (thrown) => {
  expect(toFailure(thrown)).toEqual({ ok: false, error: "the connection failed", permanent: false });
});

it("a fault is told in its own words, and whether it stays", () => {
  expect(toFailure(new OutboundFault("why"))).toEqual({ ok: false, error: "why", permanent: false });
  const permanent = new OutboundFault("why", { permanent: true });
  expect(toFailure(permanent)).toEqual({ ok: false, error: "why", permanent: true });
});
