/** Asking a server whether a file can be had: the same answers as a download gives, and nothing fetched. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { type FileServer, redirectTo, serveFiles } from "../support/file-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let server: FileServer;
let other: FileServer;
beforeEach(async () => {
  server = await serveFiles();
  other = await serveFiles();
});
afterEach(async () => {
  await server.stop();
  await other.stop();
});

const never = new AbortController().signal;

function machine(clock = new FakeClock()): { host: LocalHost; folder: string; clock: FakeClock } {
  const folder = temporaryFolder();
  return { host: new LocalHost({ stateFolder: join(folder, "state"), clock }), folder, clock };
}

/** What asking says, and what a download of the same says. */
async function both(url: string, maxBytes?: number): Promise<{ asked: unknown; fetched: unknown }> {
  const { host, folder } = machine();
  const more = maxBytes === undefined ? {} : { maxBytes };
  const words = (error: unknown): unknown => [(error as { code: string }).code, (error as Error).message];
  const asked = await host.askDownload({ url, ...more }, never).catch(words);
  expect(readdirSync(folder)).toEqual([]);
  const place = { path: join(folder, "file"), sha256: host.sha256(Buffer.from("hello")), attributes: {} };
  const fetched = await host.download({ url, ...place, ...more }, never).then(() => null, words);
  return { asked, fetched };
}

describe("a server that is asked", () => {
  test.each(["/hello", "/redirect"])("has what is there: %s", async (path) => {
    expect(await both(server.url + path)).toEqual({ asked: null, fetched: null });
  });

  test.each<[string, () => string]>([
    ["nothing at the address", () => `${server.url}/none`],
    ["a server error", () => `${server.url}/broken`],
    ["too many redirects", () => `${server.url}/round`],
    ["a redirect to another kind of address", () => `${server.url}/file`],
    ["no server", () => "http://127.0.0.1:1/x"],
    ["another kind of address", () => "ftp://127.0.0.1/x"],
    ["a connection that breaks off", () => `${server.url}/cut`],
    ["another protocol in place of an answer", () => `${server.url}/switch`],
    ["another protocol without a name", () => `${server.url}/nameless`],
    ["what is no HTTP", () => `${server.url}/garbage`],
  ])("is refused in the words of a download: %s", async (_what, url) => {
    server.files["/broken"] = (_request, response) => void response.writeHead(503).end();
    server.files["/round"] = redirectTo("/round");
    server.files["/file"] = redirectTo("file:///etc/passwd");
    server.files["/cut"] = (request) => void request.socket.destroy();
    const switching = "HTTP/1.1 101 Switching Protocols\r\n";
    server.files["/switch"] = ({ socket }) =>
      void socket.write(`${switching}connection: upgrade\r\nupgrade: websocket\r\n\r\n`);
    server.files["/garbage"] = ({ socket }) => void socket.end("garbage\r\n\r\n");
    server.files["/nameless"] = ({ socket }) => void socket.end(`${switching}\r\n`);
    const { asked, fetched } = await both(url());
    expect(asked).toEqual([expect.stringMatching(/^DOWNLOAD_FAILED$/), expect.any(String)]);
    expect(asked).toEqual(fetched);
    expect(asked).not.toEqual([expect.anything(), expect.stringMatching(/\bhpe\b|HPE_/)]);
  });

  test("says that the file is longer than it may be", async () => {
    server.files["/long"] = (_request, response) =>
      void response.writeHead(200, { "content-length": 9 }).end("123456789");
    const { asked, fetched } = await both(`${server.url}/long`, 8);
    expect(asked).toEqual(["DOWNLOAD_FAILED", expect.stringContaining("longer than 8 bytes")]);
    expect(asked).toEqual(fetched);
  });

  test.each([400, 403, 405, 501])("tells nothing by answering HEAD with %i", async (status) => {
    server.files["/get"] = ({ method }, response) =>
      void (method === "HEAD" ? response.writeHead(status).end() : response.end("hello"));
    const { asked, fetched } = await both(`${server.url}/get?secret=1`);
    expect(asked).toBe(
      `Whether ${server.url}/get can be downloaded can't be told: the server answers HEAD with ${status}.`,
    );
    expect(fetched).toBeNull();
  });

  test("gets HEAD, and its secrets only where they are meant for it, a private address included", async () => {
    const seen: unknown[] = [];
    other.files["/inner"] = ({ method, headers }, response) => {
      seen.push([method, headers["x-token"], headers.authorization]);
      response.end("hello");
    };
    server.files["/out"] = ({ method, headers }, response) => {
      seen.push([method, headers["x-token"], headers.authorization]);
      response.writeHead(302, { location: `${other.url}/inner` }).end();
    };
    const url = `${server.url.replace("http://", "http://me:word@")}/out`;
    expect(await machine().host.askDownload({ url, headers: { "x-token": "t" } }, never)).toBeNull();
    const basic = `Basic ${Buffer.from("me:word").toString("base64")}`;
    expect(seen).toEqual([
      ["HEAD", "t", basic],
      ["HEAD", undefined, undefined],
    ]);
  });
});

describe("a server that never answers", () => {
  test("tells nothing after ten seconds, where it took the call", async () => {
    const { host, clock } = machine();
    let called!: () => void;
    const call = new Promise<void>((resolve) => (called = resolve));
    server.files["/hang"] = () => called();
    const asking = host.askDownload({ url: `${server.url}/hang` }, never);
    await call;
    await clock.advance(10_000);
    expect(await asking).toMatch(/did not answer HEAD in 10 s\.$/);
  });

  test("can't be reached where nobody took the call by then", async () => {
    const { host, clock } = machine();
    const asking = host.askDownload({ url: `${server.url}/hello` }, never);
    const refusal = asking.catch((error: unknown) => error);
    await clock.advance(10_000);
    expect(await refusal).toMatchObject({
      code: "DOWNLOAD_FAILED",
      message: expect.stringContaining("the connection failed"),
    });
  });

  test("is left at once by a cancel", async () => {
    const { host } = machine();
    const stop = new AbortController();
    let called!: () => void;
    const call = new Promise<void>((resolve) => (called = resolve));
    server.files["/hang"] = () => called();
    const asking = host.askDownload({ url: `${server.url}/hang` }, stop.signal);
    await call;
    stop.abort(new Error("cancelled"));
    await expect(asking).rejects.toThrow("cancelled");
  });
});
