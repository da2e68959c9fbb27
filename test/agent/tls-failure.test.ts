/**
 * Symptom: where TLS failed, an agent logged Node's own text at level info ("try running Node.js with --use-system-ca", or lines of
 * OpenSSL's sources), which named no option of ours, once a minute among lines that need nobody.
 */
import { once } from "node:events";
import { createServer as createPlainServer } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAuthority, issueCertificate } from "../../adapters/cli/work/tls/authority.ts";
import { createAgent } from "../../lib/agent/agent.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { waitFor } from "../support/wait-for.ts";

const yearMs = 365 * 86_400_000;
const now = Date.now();
const authority = await createAuthority("test", now - yearMs);
const ca = authority.cert;
const own = await issueCertificate({ authority, names: ["127.0.0.1"], nowMs: now });
const other = await issueCertificate({ authority, names: ["other.example"], nowMs: now });
const early = await issueCertificate({ authority, names: ["127.0.0.1"], nowMs: now + yearMs });
const over = await issueCertificate({ authority, names: ["127.0.0.1"], nowMs: now - yearMs });

const cases: [string, ServerOptions | null, string | undefined, RegExp][] = [
  [
    "of an authority that is not known here",
    own,
    undefined,
    /: its certificate is not trusted here \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)\..*--ca-file FILE.*ca_file = FILE/,
  ],
  ["for another name", other, ca, /for other names than the one called \(ERR_TLS_CERT_ALTNAME/],
  ["that is over", over, ca, /not valid now \(CERT_HAS_EXPIRED\)\. Renew it/],
  ["that is not valid yet", early, ca, /not valid now \(CERT_NOT_YET_VALID\)\. Renew it/],
  ["that is none, as it speaks http", null, undefined, /no TLS comes about \((EPROTO|ERR_SSL_\w+)\)\./],
];

test.each(cases)(
  "warns of a server with a certificate %s, and says what to do",
  async (_, tls, trusted, expected) => {
    const server = tls === null ? createPlainServer() : createServer(tls);
    onTestFinished(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const logger = new RecordingLogger();
    const folder = temporaryFolder();
    const agent = createAgent({
      url: `wss://127.0.0.1:${(server.address() as AddressInfo).port}/agent/v1`,
      ...(trusted !== undefined && { tls: { ca: trusted } }),
      stateDir: join(folder, "state"),
      root: folder,
      logger,
    });
    onTestFinished(() => agent.stop());
    await agent.start();
    await waitFor(() =>
      expect(logger.lines).toContainEqual({
        level: "warn",
        message: "There is no connection to the orchestrator.",
        fields: { code: null, message: expect.stringMatching(expected) },
      }),
    );
    expect(JSON.stringify(logger.lines)).not.toMatch(/Node|openssl/i);
  },
);
