import { describe, expect, test } from "vitest";
import { type MemoryDownload, MemoryHost, type MemoryProgram } from "../../lib/host/memory-host.ts";
import { hostConformance } from "../../lib/testing/host-conformance.ts";

const wait: MemoryProgram = (_command, signal) =>
  new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve({ exitCode: null, signal: "SIGTERM" })),
  );

describe("conformance", () => {
  const create = () => {
    const echo: MemoryProgram = ({ stdin }) => ({ stdout: stdin ?? "" });
    const urls = {
      hello: "http://a.test/hello",
      none: "http://a.test/none",
      endless: "http://a.test/endless",
    };
    const endless: MemoryDownload = (_request, signal) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error)),
      );
    let running = 0;
    const parent: MemoryProgram = async (command, signal) => {
      running = 3;
      const result = await wait(command, signal);
      running = 0;
      return result;
    };
    const host = new MemoryHost({
      programs: { echo, fail: () => ({ exitCode: 3 }), wait, parent },
      downloads: { [urls.hello]: Buffer.from("hello"), [urls.endless]: endless },
    });
    host.files.makeDirectory("/work", {});
    const programs = { echo: ["echo"], fail: ["fail"], wait: ["wait"] } as const;
    const { files } = host;
    const hardLink = (path: string, name: string): void => files.hardLink(path, name);
    const setImmutable = (path: string, is: boolean): void => files.setImmutable(path, is);
    const family = { argv: ["parent"] as const, size: 3, running: () => running };
    return { host, folder: "/work", programs, family, urls, hardLink, setImmutable };
  };
  for (const { name, needs, run } of hostConformance(create)) {
    test.skipIf(needs === "root")(name, run);
  }
});

test("the log names every change and every program, and no look", async () => {
  const host = new MemoryHost({ programs: { sync: () => ({}) } });
  host.files.makeDirectory("/etc", {});
  host.files.writeFile("/etc/motd", Buffer.from("x"), {});
  host.files.stat("/etc/motd");
  host.files.readFile("/etc/motd");
  await host.run({ argv: ["sync"] }, new AbortController().signal);
  expect(host.writes).toEqual([
    { call: "makeDirectory", path: "/etc" },
    { call: "writeFile", path: "/etc/motd" },
    { call: "run", path: "sync" },
  ]);
});

test("links among the folders above a path are followed, a circle of them is refused", () => {
  const { files } = new MemoryHost();
  files.makeDirectory("/real", {});
  files.makeSymlink("/alias", "real");
  files.writeFile("/alias/file", Buffer.from("x"), {});
  expect(files.list("/real")).toEqual(["file"]);
  files.makeSymlink("/a", "b");
  files.makeSymlink("/b", "a");
  expect(() => files.stat("/a/x")).toThrow(expect.objectContaining({ code: "HOST_ERROR" }));
});

test("who can change a folder leads what is below it, the top of the machine too", () => {
  const { files } = new MemoryHost();
  files.makeDirectory("/etc", { mode: 0o755 });
  expect(files.ledBy("/etc/x")).toBeNull();
  files.setAttributes("/", { uid: 1000 });
  expect(files.ledBy("/etc/x")).toBe(1000);
  files.setAttributes("/", { uid: 0, mode: 0o777 });
  expect(files.ledBy("/etc/x")).toBe(0);
  files.setAttributes("/", { mode: 0o755 });
  files.setAttributes("/etc", { uid: 1000 });
  expect([files.ledBy("/etc/x"), files.ledBy("/x")]).toEqual([1000, null]);
});

test("what a program writes is told as it comes, and nothing of a stream that it leaves empty", async () => {
  const host = new MemoryHost({
    programs: {
      both: () => ({ stdout: "o", stderr: "e" }),
      error: () => ({ stderr: "e" }),
      none: () => ({}),
    },
  });
  for (const [name, told] of [
    ["both", ["stdout o", "stderr e"]],
    ["error", ["stderr e"]],
    ["none", []],
  ] as const) {
    const pieces: string[] = [];
    const onOutput = (stream: string, bytes: Uint8Array): void =>
      void pieces.push(`${stream} ${Buffer.from(bytes).toString()}`);
    await host.run({ argv: [name], onOutput }, new AbortController().signal);
    expect(pieces).toEqual(told);
  }
});

test("root and its group are there unless others are named", () => {
  const names = ({ users }: MemoryHost): unknown => [
    users.userName(0),
    users.groupName(0),
    users.groupId("root"),
  ];
  expect(names(new MemoryHost())).toEqual(["root", "root", 0]);
  expect(names(new MemoryHost({ users: { web: 33 }, groups: { www: 0 } }))).toEqual([null, "www", null]);
});

test("users that are not there are null", () => {
  const { users } = new MemoryHost({ users: { root: 0, web: 33 } });
  expect([users.userId("web"), users.userName(33), users.userId("db"), users.groupName(33)]).toEqual([
    33,
    "web",
    null,
    null,
  ]);
});

test("users follow the account files of the machine where it has them", () => {
  const { files, users } = new MemoryHost({ users: { root: 0, web: 33 } });
  files.makeDirectory("/etc", {});
  files.writeFile(
    "/etc/passwd",
    Buffer.from("root:x:0:0::/root:/bin/sh\ndeploy:x:1001:1002::/home/deploy:\n"),
    {},
  );
  files.writeFile("/etc/group", Buffer.from("deploy:x:1002:web\n"), {});
  expect([users.userId("web"), users.userId("deploy"), users.userName(1001)]).toEqual([null, 1001, "deploy"]);
  expect([users.groupId("deploy"), users.groupName(1002), users.groupId("root")]).toEqual([
    1002,
    "deploy",
    null,
  ]);
});
