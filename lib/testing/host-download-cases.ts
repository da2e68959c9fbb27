/** The promises of {@link Host.download}, as cases. */
import { isOrchestratorError } from "../errors.ts";
import type { HostDownload } from "../host/host.ts";
import { assertEqual, assertThat, assertThrows } from "./expect.ts";
import type { HostCase, HostUnderTest } from "./host-subject.ts";

const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Downloads to a path where a file stands already; the error, where there is one. */
async function fetchOver(
  { host, folder }: HostUnderTest,
  request: Partial<HostDownload> & { url: string },
  signal: AbortSignal = new AbortController().signal,
): Promise<unknown> {
  host.files.writeFile(`${folder}/file`, bytes("old"), { mode: 0o640 });
  const whole = { path: `${folder}/file`, sha256, attributes: {}, ...request };
  return host.download(whole, signal).then(
    () => null,
    (error: unknown) => error,
  );
}

function assertUntouched({ host: { files }, folder }: HostUnderTest): void {
  assertEqual(new TextDecoder().decode(files.readFile(`${folder}/file`)), "old", "the old file");
  assertEqual(files.list(folder), ["file"], "nothing else is left");
}

function rethrow(error: unknown): () => never {
  return () => {
    throw error;
  };
}

export const downloadCases: HostCase[] = [
  {
    promise: 13,
    name: "a download puts the content in its place, over redirects, with the mode asked for",
    async run({ host, folder, urls }) {
      const { signal } = new AbortController();
      const request = { url: urls.hello, path: `${folder}/new`, sha256, attributes: { mode: 0o644 } };
      assertEqual(await host.download(request, signal), { sha256, sizeBytes: 5 }, "digest");
      assertEqual(new TextDecoder().decode(host.files.readFile(`${folder}/new`)), "hello", "content");
      assertEqual(host.files.stat(`${folder}/new`)?.mode, 0o644, "mode");
      assertEqual(host.files.list(folder), ["new"], "nothing else is left");
    },
  },
  {
    promise: 13,
    name: "a download over a file keeps its mode",
    async run(given) {
      assertEqual(await fetchOver(given, { url: given.urls.hello }), null, "error");
      assertEqual(given.host.files.stat(`${given.folder}/file`)?.mode, 0o640, "mode");
      assertEqual(given.host.files.stat(`${given.folder}/file`)?.sizeBytes, 5, "size");
    },
  },
  {
    promise: 13,
    name: "what is not what was asked for replaces nothing and leaves nothing",
    async run(given) {
      const { hello, none } = given.urls;
      const requests = [
        { url: hello, sha256: sha256.replace("2", "3") },
        { url: hello, maxBytes: 4 },
        { url: none },
        { url: "file:///etc/passwd" },
      ];
      for (const request of requests) {
        const error = await fetchOver(given, request);
        assertThrows(rethrow(error), "DOWNLOAD_FAILED");
        assertUntouched(given);
      }
    },
  },
  {
    promise: 13,
    name: "who is asked whether a file can be had says what a download says, and nothing is fetched",
    async run(given) {
      const { hello, none } = given.urls;
      const { signal } = new AbortController();
      const ask = given.host.askDownload?.bind(given.host);
      if (!ask) return;
      assertEqual(await ask({ url: hello }, signal), null, "what is there");
      for (const url of [none, "file:///etc/passwd"]) {
        const asked: unknown = await ask({ url }, signal).catch((cause: unknown) => cause);
        const fetched = await fetchOver(given, { url });
        assertThrows(rethrow(asked), "DOWNLOAD_FAILED");
        assertEqual((asked as Error).message, (fetched as Error).message, "words");
        assertUntouched(given);
      }
    },
  },
  {
    promise: 13,
    name: "an abort ends a download and leaves nothing",
    async run(given) {
      const controller = new AbortController();
      const running = fetchOver(given, { url: given.urls.endless }, controller.signal);
      setImmediate(() => controller.abort());
      assertThat((await running) === controller.signal.reason, "it rejects with the reason of the abort");
      assertUntouched(given);
    },
  },
  {
    promise: 13,
    name: "a failure names neither user, password nor query",
    async run(given) {
      const url = new URL(given.urls.none);
      [url.username, url.password, url.search] = ["token", "hunter2", "?key=hunter2"];
      const error = await fetchOver(given, { url: url.href });
      assertThat(isOrchestratorError(error, "DOWNLOAD_FAILED"), "it fails");
      const said = `${error.message} ${JSON.stringify(error.details)}`;
      assertThat(said.includes(url.host) && !/token|hunter2|key/.test(said), said);
    },
  },
  {
    promise: 13,
    name: "a folder in the place, or none above it, is a refusal of the machine",
    async run({ host, folder, urls }) {
      const { signal } = new AbortController();
      for (const [path, errno] of [
        [folder, "EISDIR"],
        [`${folder}/none/file`, "ENOENT"],
      ] as const) {
        const request = { url: urls.hello, path, sha256, attributes: {} };
        const error: unknown = await host.download(request, signal).catch((cause: unknown) => cause);
        assertEqual(assertThrows(rethrow(error), "HOST_ERROR"), { path, errno }, "details");
      }
    },
  },
  {
    promise: 11,
    needs: "root",
    name: "no download leads out of the root",
    async run({ host, folder, urls, outside }) {
      assertThat(outside !== undefined, "a host with a root says what is outside");
      host.files.makeSymlink(`${folder}/out`, outside.target);
      const request = { url: urls.hello, path: `${folder}/out/new`, sha256, attributes: {} };
      const { signal } = new AbortController();
      const error: unknown = await host.download(request, signal).catch((cause: unknown) => cause);
      assertThrows(rethrow(error), "PATH_OUTSIDE_ROOT");
    },
  },
];
