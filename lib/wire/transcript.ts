/** What both sides sign: everything that was said, so that nothing between can change a word of it. */
import type { Crypto } from "../crypto/crypto.ts";
import { concatBytes, toHex, toUtf8 } from "../crypto/encoding.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { toJsonObject } from "../json.ts";
import type { Hello, Prove, Welcome } from "./handshake-messages.ts";

/** A signature for one purpose never fits another. */
export const labels = {
  orchestrator: "fleetwright/1 orchestrator",
  agent: "fleetwright/1 agent",
  command: "fleetwright/1 command",
} as const;

/** The bytes that a signature is made over: the label, a zero byte, the content. */
export function labelled(label: string, content: Uint8Array): Uint8Array {
  return concatBytes(toUtf8(label), new Uint8Array(1), content);
}

/** Hash over every field of `hello` and `welcome`, and over the TLS exporter where both sides see one connection. */
export function openingHash(
  crypto: Crypto,
  messages: { hello: Hello; welcome: Omit<Welcome, "signature">; tlsExporter: Uint8Array | null },
): Uint8Array {
  const { hello, welcome, tlsExporter } = messages;
  const exporter = welcome.channel_binding && tlsExporter ? toHex(tlsExporter) : null;
  return crypto.sha256(toUtf8(canonicalJson({ hello, welcome, exporter })));
}

/** Hash over the opening, the orchestrator's signature and what the agent says of its machine. */
export function provingHash(
  crypto: Crypto,
  messages: { opening: Uint8Array; welcome: Welcome; prove: Omit<Prove, "signature"> },
): Uint8Array {
  const { opening, welcome, prove } = messages;
  return crypto.sha256(
    toUtf8(
      canonicalJson({ opening: toHex(opening), signature: welcome.signature, prove: toJsonObject(prove) }),
    ),
  );
}
