/** Which answers of a server lead on, for a download and for the question whether it can be had. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const content = "hello";
const sha256 = createHash("sha256").update(content).digest("hex");
const never = new AbortController().signal;
let origin = "";
let asked: string[] = [];

/** `/302/3` is answered with 302 three times, and then with the file; `/302/bare` with 302 and no place. */
const server = createServer((request, response) => {
  const [, status = "", left = ""] = (request.url ?? "").split("/");
  asked.push(`${request.method} ${request.url}`);
  if (left === "0") return void response.end(request.method === "HEAD" ? undefined : content);
  const location = left === "bare" ? {} : { location: `/${status}/${Number(left) - 1}` };
  response.writeHead(Number(status), location).end();
});

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
});

/** What comes of the file at a path: "there", or why not. */
async function outcomesOf(path: string): Promise<{ download: string; question: string }> {
  const root = temporaryFolder();
  const host = new LocalHost({ stateFolder: temporaryFolder(), root });
  const url = `${origin}${path}`;
  const messageOf = (error: unknown): string => {
    expect(error).toMatchObject({ code: "DOWNLOAD_FAILED" });
    return (error as Error).message.replaceAll(origin, "");
  };
  const download = await host
    .download({ url, path: "/file", sha256, attributes: {} }, never)
    .then(() => readFileSync(join(root, "file"), "utf8") === content && "there", messageOf);
  expect(existsSync(join(root, "file"))).toBe(download === "there");
  const question = await host
    .askDownload({ url }, never)
    .then((why) => why?.replaceAll(origin, "") ?? "there", messageOf);
  return { download: String(download), question };
}

test.each([301, 302, 303, 307, 308])("an answer %i leads on, five times and no more", async (status) => {
  for (const hops of [1, 5])
    expect(await outcomesOf(`/${status}/${hops}`)).toEqual({ download: "there", question: "there" });
  const why = `/${status}/6 can't be downloaded: it redirects more than 5 times.`;
  asked = [];
  expect(await outcomesOf(`/${status}/6`)).toEqual({ download: why, question: why });
  expect(asked.filter((line) => line.startsWith("GET"))).toHaveLength(6);
  const bare = `/${status}/bare can't be downloaded: the server answered ${status}.`;
  expect(await outcomesOf(`/${status}/bare`)).toEqual({ download: bare, question: bare });
});

test.each([201, 204, 206, 300, 304, 305, 401, 404, 410, 500, 503])(
  "an answer %i is an end, wherever it points to",
  async (status) => {
    const why = `/${status}/1 can't be downloaded: the server answered ${status}.`;
    expect(await outcomesOf(`/${status}/1`)).toEqual({ download: why, question: why });
  },
);

test.each([400, 403, 405, 406, 501])("an answer %i to HEAD says nothing of the file", async (status) => {
  expect(await outcomesOf(`/${status}/1`)).toEqual({
    download: `/${status}/1 can't be downloaded: the server answered ${status}.`,
    question: `Whether /${status}/1 can be downloaded can't be told: the server answers HEAD with ${status}.`,
  });
});
