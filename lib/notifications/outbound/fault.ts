/** Why a connection is not made, or broke, in words. */
import type { OutboundFailure } from "./outbound.ts";

/** Ends an attempt inside of this folder; outside it is an {@link OutboundFailure}. */
export class OutboundFault extends Error {
  readonly permanent: boolean;

  constructor(message: string, { permanent = false }: { permanent?: boolean } = {}) {
    super(message);
    this.permanent = permanent;
  }
}

/** What the errors of Node mean. Their texts may quote addresses and what the other side sent. */
const words: Record<string, string | undefined> = {
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the other side broke the connection off",
  EPIPE: "the other side broke the connection off",
  ETIMEDOUT: "no connection could be made in time",
  EHOSTUNREACH: "the host can't be reached",
  ENETUNREACH: "the network can't be reached",
  ENOTFOUND: "the name of the host is not known",
  ENODATA: "the name of the host is not known",
  EAI_AGAIN: "the name of the host could not be looked up",
  ESERVFAIL: "the name of the host could not be looked up",
  EREFUSED: "the name of the host could not be looked up",
  ETIMEOUT: "the name of the host could not be looked up",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is of another host",
  CERT_HAS_EXPIRED: "the certificate has expired",
  CERT_NOT_YET_VALID: "the certificate is not valid yet",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "the certificate is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the certificate is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the certificate is not trusted",
};

/** Says why. */
export function toFailure(error: unknown): OutboundFailure {
  if (error instanceof OutboundFault) return { ok: false, error: error.message, permanent: error.permanent };
  const code = (error as { code?: unknown } | null)?.code;
  return { ok: false, error: networkWords(typeof code === "string" ? code : ""), permanent: false };
}

function networkWords(code: string): string {
  if (/^(HPE_|ERR_HTTP)/.test(code)) return "the answer is not HTTP";
  if (code === "EPROTO" || /^ERR_(SSL|TLS|OSSL)/.test(code)) return words[code] ?? "TLS could not be agreed";
  return (
    words[code] ??
    (/^[A-Z][A-Z0-9_]{1,40}$/.test(code) ? `the connection failed (${code})` : "the connection failed")
  );
}
