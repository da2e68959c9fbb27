/** Answers that are given before the body was read must leave the connection fit for the next request, which may be anybody's. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createApp } from "../../../adapters/h3/app.ts";
import { listenApp } from "../../../adapters/h3/serve.ts";
import { freePort } from "../../support/free-port.ts";
import { OwnTime } from "../../support/own-time.ts";
import { eventually } from "../../support/processes.ts";
import { sendRaw } from "../../support/raw-http.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

async function listenToy() {
  const app = createApp({
    router: toyRouter,
    createContext: toyContexts(new Toy()),
    isReady: () => true,
    allowedHosts: ["a"],
    bodyLimitBytes: 1 << 20,
  });
  const server = await listenApp(app, { port: 0 });
  return { port: server.port, [Symbol.asyncDispose]: () => server.close() };
}

const json = "Content-Type: application/json";
const token = "Authorization: Bearer fw_good";

/** What is answered before the body is read, or without its end. */
const early: [name: string, line: string, headers: string[]][] = [
  ["a stranger over tRPC", "POST /trpc/machines.create", [json]],
  ["a body over the limit to tRPC", "POST /trpc/machines.create", [json, token]],
  ["another method over tRPC", "PUT /trpc/machines.create", [json, token]],
  ["a mutation as a query", "GET /trpc/machines.create", [json, token]],
  ["no procedure", "POST /trpc/nothing.here", [json, token]],
  ["too large a batch", `POST /trpc/${"machines.create,".repeat(21)}x?batch=1`, [json, token]],
  ["another media type to tRPC", "POST /trpc/machines.create", ["Content-Type: text/plain", token]],
  ["a stranger over REST", "POST /api/v1/machines", [json]],
  ["a body over the limit to REST", "POST /api/v1/machines", [json, token]],
  ["another method over REST", "DELETE /api/v1/machines", [json, token]],
  ["a read with a body", "GET /api/v1/machines", [json, token]],
  ["REST by its whole URL", "POST http://a/api/v1/machines", [json]],
  ["no path", "POST /nothing", [json]],
  ["a page", "POST /docs", [json]],
  ["health", "POST /readyz", [json]],
  ["a host that the service does not have", "POST /api/v1/machines", [json, "Host: b"]],
];

describe.each([
  ["as long as was said", (bytes: number) => [`Content-Length: ${bytes}`, "x".repeat(bytes)]],
  [
    "in chunks",
    (bytes: number) => [
      "Transfer-Encoding: chunked",
      `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n0\r\n\r\n`,
    ],
  ],
])("after a body %s", (_, toBody) => {
  test.each(early)("that goes to %s, the next request is answered", async (_name, line, headers) => {
    await using listening = await listenToy();
    for (const bytes of [1000, 200_000, 1_500_000]) {
      const [head = "", body = ""] = toBody(bytes);
      const host = headers.some((header) => header.startsWith("Host:")) ? [] : ["Host: a"];
      const first = [`${line} HTTP/1.1`, ...host, ...headers, head].join("\r\n");
      const raw = await sendRaw(
        listening.port,
        `${first}\r\n\r\n${body}GET /livez HTTP/1.1\r\nHost: a\r\n\r\n`,
      );
      // Either the next is answered, or the connection ends at once, which a client may take for a wish to ask again.
      const text = await Promise.race([raw.until(/HTTP\/1\.1 200 /).catch(() => raw.closed), raw.closed]);
      raw.socket.destroy();
      expect(text).toMatch(/^HTTP\/1\.1 4\d\d /);
    }
  });
});

/** As `http.client` of Python does: who sends first and reads then must find the answer, not a connection that was reset. */
test.each(early)("who sends 10 MB to %s before reading finds the answer", async (_name, line, headers) => {
  await using listening = await listenToy();
  const socket = connect(listening.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const host = headers.some((header) => header.startsWith("Host:")) ? [] : ["Host: a"];
  const head = [`${line} HTTP/1.1`, ...host, ...headers, "Content-Length: 10000000"].join("\r\n");
  await new Promise<void>((sent, failed) => {
    socket.once("error", failed);
    socket.write(`${head}\r\n\r\n${"x".repeat(10_000_000)}`, () => sent());
  });
  const closed = once(socket, "close").then(() => ["It closed."]);
  const [answer] = (await Promise.race([once(socket, "data"), closed])) as [Buffer | string];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 4\d\d /);
});

test("a body that never ends is cut, once it was answered", async () => {
  await using listening = await listenToy();
  const head = "POST /trpc/machines.create HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const raw = await sendRaw(listening.port, head);
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  let sent = 0;
  const isOpen = (): boolean => !raw.socket.destroyed && !raw.socket.readableEnded;
  while (isOpen() && sent < 64 << 20) {
    sent += 0x10000;
    if (!raw.socket.write(chunk)) await Promise.race([once(raw.socket, "drain").catch(() => {}), raw.closed]);
  }
  expect(await raw.closed).toMatch(/^HTTP\/1\.1 4/);
  expect(sent).toBeLessThan(32 << 20);
});

const hasNginx = spawnSync("nginx", ["-v"]).status === 0;
if (!hasNginx)
  console.info(
    "The test behind a real nginx is skipped: there is no nginx in the PATH (Debian: nginx-light)",
  );

test.skipIf(!hasNginx)(
  "behind a real nginx that keeps its connections, nobody waits for another's refusal",
  async () => {
    await using listening = await listenToy();
    const port = await startNginx(listening.port);
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const send = (method: string, path: string, body: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { host: "a", "content-type": "application/json", "content-length": body.length };
        const call = request({ port, method, path, headers, agent }, (answer) => {
          answer.resume();
          answer.once("end", () => resolve(answer.statusCode ?? 0));
        });
        call.once("error", reject);
        call.end(body);
      });
    for (let round = 0; round < 10; round += 1) {
      expect(await send("POST", "/trpc/machines.create", "x".repeat(300_000))).toBe(400);
      using time = new OwnTime();
      expect(await send("GET", "/livez", "")).toBe(200);
      expect(time.ms).toBeLessThan(4000);
    }
  },
);

async function startNginx(upstream: number): Promise<number> {
  const folder = temporaryFolder();
  const port = await freePort();
  mkdirSync(join(folder, "logs"));
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join("\n");
  writeFileSync(
    join(folder, "nginx.conf"),
    `user root; daemon off; master_process off; worker_processes 1; pid ${join(folder, "pid")}; error_log stderr;
    events {}
    http {
      ${paths}
      access_log off;
      upstream fleet { server 127.0.0.1:${upstream}; keepalive 1; }
      server {
        listen 127.0.0.1:${port};
        client_max_body_size 100m;
        location / {
          proxy_pass http://fleet; proxy_http_version 1.1; proxy_set_header Connection "";
          proxy_set_header Host a; proxy_request_buffering off;
        }
      }
    }`,
  );
  const nginx = spawn("nginx", ["-c", join(folder, "nginx.conf"), "-p", folder], { stdio: "ignore" });
  const exited = once(nginx, "exit");
  onTestFinished(async () => {
    nginx.kill("SIGKILL");
    await exited;
  });
  await eventually(
    "nginx listens",
    async () => (await fetch(`http://127.0.0.1:${port}/livez`).catch(() => null))?.ok === true,
  );
  return port;
}
