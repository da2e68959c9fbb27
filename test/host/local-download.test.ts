import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
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

const sha256 = (content: Buffer | string): string => createHash("sha256").update(content).digest("hex");

async function download(path: string, more: object = {}, url = server.url) {
  const folder = temporaryFolder();
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const place = join(folder, "work");
  mkdirSync(place);
  const request = { url: url + path, path: join(place, "file"), sha256: sha256("hello"), attributes: {} };
  const error: unknown = await host
    .download({ ...request, ...more }, new AbortController().signal)
    .then(() => null)
    .catch((cause: unknown) => cause);
  return { error, place, file: join(place, "file") };
}

test("a large file arrives whole, as another program sees it too", async () => {
  const content = Buffer.alloc(5_000_003, "abc");
  server.files["/large"] = content;
  const { error, file } = await download("/large", { sha256: sha256(content), attributes: { mode: 0o755 } });
  expect(error).toBe(null);
  expect(execFileSync("sha256sum", [file], { encoding: "utf8" }).slice(0, 64)).toBe(sha256(content));
  expect(statSync(file).mode & 0o7777).toBe(0o755);
});

test("a content that breaks off is refused, whether its length was told or not", async () => {
  server.files["/told"] = (_request, response) => {
    response.writeHead(200, { "content-length": "100" }).write("hello", () => response.destroy());
  };
  server.files["/untold"] = (_request, response) => {
    response.writeHead(200).write("hel", () => response.destroy());
  };
  for (const path of ["/told", "/untold"]) {
    const { error, place } = await download(path);
    expect(error).toMatchObject({ code: "DOWNLOAD_FAILED" });
    expect(readdirSync(place)).toEqual([]);
  }
});

test("a length that is too much is refused before a byte is read, and a lie about it as soon as it shows", async () => {
  server.files["/long"] = Buffer.alloc(2000);
  server.files["/lie"] = (_request, response) => void response.writeHead(200).write(Buffer.alloc(2000));
  for (const path of ["/long", "/lie"]) {
    const { error } = await download(path, { maxBytes: 1000 });
    expect(error).toMatchObject({ message: expect.stringContaining("longer than 1000 bytes") });
  }
});

test("a content that is just as long as it may be arrives, whether its length was told or not", async () => {
  server.files["/told"] = "hello";
  server.files["/untold"] = (_request, response) => void response.writeHead(200).end("hello");
  for (const path of ["/told", "/untold"]) {
    expect((await download(path, { maxBytes: 5 })).error).toBe(null);
    expect((await download(path, { maxBytes: 4 })).error).toMatchObject({
      message: expect.stringContaining("longer than 4 bytes"),
    });
  }
});

test("five redirects are followed, a sixth is not", async () => {
  for (let hop = 0; hop < 6; hop += 1) server.files[`/hop${hop}`] = redirectTo(`/hop${hop + 1}`);
  server.files["/hop6"] = "hello";
  expect((await download("/hop1")).error).toBe(null);
  expect((await download("/hop0")).error).toMatchObject({
    message: expect.stringContaining("redirects more than 5 times"),
  });
});

test("headers and password reach their own server and no other", async () => {
  const seen: (string | undefined)[][] = [];
  const note = (from: FileServer, then: string) => {
    from.files["/secret"] = (request, response) => {
      seen.push([request.headers.authorization, request.headers["x-token"] as string | undefined]);
      response.writeHead(302, { location: then }).end();
    };
  };
  note(server, `${other.url}/secret`);
  note(other, `${other.url}/hello`);
  const url = server.url.replace("//", "//user:hunter2@");
  expect((await download("/secret", { headers: { "x-token": "t" } }, url)).error).toBe(null);
  expect(seen).toEqual([
    [`Basic ${Buffer.from("user:hunter2").toString("base64")}`, "t"],
    [undefined, undefined],
  ]);
});

test("a server that is not there is named by its address and the system's error", async () => {
  await other.stop();
  const { error } = await download("/x?token=hunter2", {}, other.url);
  expect(error).toMatchObject({
    code: "DOWNLOAD_FAILED",
    message: `${other.url}/x can't be downloaded: the connection failed (connection refused).`,
  });
  other = await serveFiles();
});

test("what a kill left of a download is gone after the next one", async () => {
  const folder = temporaryFolder();
  const host = new LocalHost({ stateFolder: temporaryFolder() });
  const file = join(folder, "file");
  const { signal } = new AbortController();
  const request = { url: `${server.url}/endless`, path: file, sha256: sha256("hello"), attributes: {} };
  const controller = new AbortController();
  const running = host.download(request, controller.signal).catch(() => null);
  let part: string | undefined;
  while (part === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    part = readdirSync(folder).find((name) => name.endsWith(".part"));
  }
  controller.abort();
  await running;
  writeFileSync(join(folder, part), "left over");
  await host.download({ ...request, url: `${server.url}/hello` }, signal);
  expect(readdirSync(folder)).toEqual(["file"]);
  expect(readFileSync(file, "utf8")).toBe("hello");
});

test("a header that can't be sent fails the download", async () => {
  expect((await download("/hello", { headers: { "x-bad": "a\nb" } })).error).toMatchObject({
    code: "DOWNLOAD_FAILED",
    message: expect.stringContaining("invalid char"),
  });
});

test("an owner's change of mode while it loads is kept, where nothing else is asked for", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "file");
  writeFileSync(path, "before", { mode: 0o600 });
  server.files["/slow"] = (_request, response) => {
    chmodSync(path, 0o640);
    response.end("hello");
  };
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const request = { url: `${server.url}/slow`, path, sha256: sha256("hello"), attributes: {} };
  await host.download(request, new AbortController().signal);
  expect(readFileSync(path, "utf8")).toBe("hello");
  expect(statSync(path).mode & 0o7777).toBe(0o640);
});

const body = Buffer.alloc(100_000);
test.each([
  ["is longer than it may be", 200, { "content-length": "4000000" }],
  ["turns out to be longer than it may be", 200, {}],
  ["is not what was asked for", 200, { "content-length": "100000" }],
  ["is refused", 503, {}],
  ["is refused by a redirect that says a lot", 302, { location: "/none" }],
])("the server of a file that %s is let go at once", async (how, status, headers) => {
  let isOver = false;
  server.files["/file"] = (request, response) => {
    request.socket.once("close", () => (isOver = true));
    response.writeHead(status, { ...headers, connection: "keep-alive" }).write(body);
  };
  const { error } = await download("/file", { maxBytes: how.includes("turns out") ? 99_999 : 100_000 });
  expect(error).toMatchObject({ code: "DOWNLOAD_FAILED" });
  await expect.poll(() => isOver).toBe(true);
});

test("a download that is cancelled while its last bytes are written is not put in its place", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "file");
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const request = { url: `${server.url}/hello`, path, sha256: sha256("hello"), attributes: {} };
  const isWritten = (): boolean =>
    readdirSync(folder).some((name) => name.endsWith(".part") && statSync(join(folder, name)).size === 5);
  const outcomes: unknown[] = [];
  for (let wasInTime = false; !wasInTime && outcomes.length < 1_000; rmSync(path, { force: true })) {
    const controller = new AbortController();
    let isSettled = false;
    const running = host
      .download(request, controller.signal)
      .then(
        () => "done",
        (error: Error) => error.message,
      )
      .finally(() => (isSettled = true));
    // Nobody hears that the bytes are written while we look for them.
    while (!wasInTime && !isSettled && !existsSync(path)) {
      await new Promise((resolve) => setImmediate(resolve));
      const until = performance.now() + 5;
      while (!wasInTime && performance.now() < until) wasInTime = isWritten();
    }
    controller.abort(new Error("enough"));
    outcomes.push([await running, existsSync(path)]);
  }
  expect(outcomes.at(-1)).toEqual(["enough", false]);
});

test("a file is asked for as it is, not packed on the way, over a connection that is closed behind it", async () => {
  const asked: unknown[] = [];
  server.files["/file"] = ({ headers }, response) => {
    asked.push([headers["accept-encoding"], headers.connection]);
    response.end("hello");
  };
  expect((await download("/file")).error).toBe(null);
  expect(asked).toEqual([["identity", "close"]]);
});
