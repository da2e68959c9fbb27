/** The machine that a plan looks at: whatever is done to it, the machine below it stays as it is. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type HostFiles } from "../../../lib/host/host.ts";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import { ForeseenHost } from "../../../lib/state/foreseen/foreseen-host.ts";
import { evilModes, evilNames } from "../../support/evil.ts";

const { signal } = new AbortController();

type Step = (files: HostFiles) => unknown;

const path = fc
  .array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom("a", "b", "l") }, fc.constantFrom(...evilNames)), {
    minLength: 1,
    maxLength: 3,
  })
  .map((parts) => `/work/${parts.join("/")}`);
const attributes = fc.record({ mode: fc.constantFrom(...evilModes), uid: fc.constantFrom(0, 7) });
const text = fc.constantFrom("", "x", "yy").map((content) => Buffer.from(content));
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(path, text, attributes).map(
    ([at, content, given]): Step =>
      (files) =>
        files.writeFile(at, content, given),
  ),
  fc.tuple(path, attributes).map(
    ([at, given]): Step =>
      (files) =>
        files.makeDirectory(at, given),
  ),
  fc.tuple(path, fc.constantFrom("a", "../b", "/work/a", "l")).map(
    ([at, target]): Step =>
      (files) =>
        files.makeSymlink(at, target),
  ),
  fc.tuple(path, attributes).map(
    ([at, given]): Step =>
      (files) =>
        files.setAttributes(at, given),
  ),
  path.map(
    (at): Step =>
      (files) =>
        files.removeFile(at),
  ),
  path.map(
    (at): Step =>
      (files) =>
        files.removeDirectory(at),
  ),
  fc.tuple(path, text).map(
    ([at, content]): Step =>
      (files) =>
        files.compareFile(at, content),
  ),
  fc.tuple(path, path).map(
    ([from, to]): Step =>
      (files) =>
        files.move(from, to),
  ),
  fc.tuple(path, fc.constantFrom("readLink", "list", "extras", "hashFile", "ledBy", "stat")).map(
    ([at, look]): Step =>
      (files) =>
        lookAt(files, look as "list", at),
  ),
);

/** What is seen, or why not: below a foreseen link the machine below is asked by another path. */
function lookAt(files: HostFiles, look: "list", path: string): unknown {
  try {
    return files[look](path);
  } catch (error) {
    return (error as { details?: { errno?: string } }).details?.errno;
  }
}

test("steps on a foreseen machine end as on a real one, and the machine below stays as it is", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 12 }), (before, then) => {
      const [real, below] = [new MemoryHost(), new MemoryHost()];
      for (const host of [real, below]) {
        host.files.makeDirectory("/work", { mode: 0o755 });
        for (const each of before) told(host.files, each);
      }
      const asItWas = snapshot(below.files, "/work");
      const foreseen = new ForeseenHost(below);
      for (const each of then) {
        expect(told(foreseen.files, each)).toEqual(told(real.files, each));
        expect(snapshot(foreseen.files, "/work")).toEqual(snapshot(real.files, "/work"));
      }
      expect(snapshot(below.files, "/work")).toEqual(asItWas);
    }),
    { numRuns: 500 },
  );
});

/** What a step gives, or how it is refused. */
function told(files: HostFiles, act: Step): unknown {
  try {
    return act(files) ?? null;
  } catch (error) {
    return (error as { details?: unknown }).details;
  }
}

function snapshot(files: HostFiles, folder: string): unknown[] {
  return files.list(folder).map((name) => {
    const at = `${folder}/${name}`;
    const stat = files.stat(at);
    if (stat?.kind === "directory") return [name, stat, snapshot(files, at)];
    if (stat?.kind === "symlink") return [name, files.readLink(at)];
    return [name, stat, Buffer.from(files.readFile(at)).toString(), files.hashFile(at)];
  });
}

function machine(programs: Record<string, MemoryProgram> = {}): { below: MemoryHost; host: ForeseenHost } {
  const below = new MemoryHost({ programs, downloads: { "http://a.test/x": Buffer.from("hello") } });
  for (const folder of ["/etc", "/srv"]) below.files.makeDirectory(folder, { mode: 0o755 });
  below.files.writeFile("/etc/passwd", Buffer.from("root:x:0:0::/root:/bin/sh\n"), {});
  return { below, host: new ForeseenHost(below) };
}

test("a program that changes something does nothing; one that is asked answers, and is asked once", async () => {
  let asked = 0;
  const { below, host } = machine({ tell: () => ({ stdout: String(++asked) }) });
  expect(await host.run({ argv: ["useradd", "web"] }, signal)).toMatchObject({ exitCode: 0, stdout: "" });
  for (let time = 0; time < 2; time += 1)
    expect((await host.run({ argv: ["tell"], asks: true }, signal)).stdout).toBe("1");
  expect(below.writes.filter(({ call }) => call === "run")).toEqual([{ call: "run", path: "tell" }]);
});

test("who is foreseen is a user, and may run programs; nobody else may", async () => {
  const { host } = machine();
  const passwd = "root:x:0:0::/root:/bin/sh\nweb:x:33:33::/srv:/bin/sh\n";
  host.files.writeFile("/etc/passwd", Buffer.from(passwd), {});
  expect([host.users.userId("web"), host.users.userName(33)]).toEqual([33, "web"]);
  await host.run({ argv: ["work"], user: "web", cwd: "/srv" }, signal);
  for (const user of ["7", "33"]) await host.run({ argv: ["work"], user }, signal);
  for (const command of [{ user: "nobody" }, { user: "7up" }, { user: "up7" }, { cwd: "/none" }])
    await expect(host.run({ argv: ["work"], ...command }, signal)).rejects.toThrow("missing: ");
});

test("a program that is asked about what is only foreseen is asked in vain", async () => {
  const { below, host } = machine({ tell: () => ({}) });
  const ask = async (...words: string[]): Promise<boolean | readonly string[]> => {
    host.forgetQuestions();
    await host.run({ argv: ["tell", ...words], asks: true }, signal);
    const { isInVain, about } = host.askedInVain();
    return isInVain && about;
  };
  expect(await ask("/srv/site")).toBe(false);
  host.files.makeDirectory("/srv/site", {});
  host.files.writeFile("/etc/passwd", Buffer.from("web:x:33:33::/srv:/bin/sh\n"), {});
  expect(await ask("./srv/site/.git")).toEqual(["/srv/site/.git"]);
  expect(await ask("/srv/site/")).toEqual(["/srv/site"]);
  expect(await ask("/srv//site", "/", "./")).toBe(false);
  expect(await ask("-c", "cd /srv; test -d site")).toEqual(["/srv", "site"]);
  expect(await ask("-u", "web")).toEqual(["web"]);
  expect(await ask("status", "site")).toEqual(["site"]);
  expect(await ask("/var", "-u", "nobody")).toBe(false);
  below.files.makeSymlink("/round", "round");
  expect(await ask("/round/x")).toBe(false);
});

test("a file to download has its hash at once, and its content not yet", async () => {
  const { below, host } = machine();
  const sha256 = host.sha256(Buffer.from("hello"));
  await host.download({ url: "http://a.test/x", path: "/srv/x", sha256, attributes: {} }, signal);
  expect(host.files.hashFile("/srv/x")).toMatchObject({ sha256 });
  expect(host.files.compareFile("/srv/x", Buffer.from("hello")).same).toBe(true);
  expect(() => host.files.readFile("/srv/x")).toThrow("missing: /srv/x");
  expect(host.askedInVain().isInVain).toBe(true);
  host.forgetQuestions();
  expect(host.askedInVain().isInVain).toBe(false);
  expect(below.files.stat("/srv/x")).toBeNull();
});

test("a folder that is cleared holds nothing, also nothing of what was foreseen in it", () => {
  const { below, host } = machine();
  below.files.writeFile("/srv/old", Buffer.from("x"), {});
  host.files.writeFile("/srv/new", Buffer.from("x"), {});
  host.files.clear("/srv");
  expect(host.files.list("/srv")).toEqual([]);
  host.files.writeFile("/srv/new", Buffer.from("x"), {});
  for (const path of ["/srv", "/none"]) host.files.removeAll(path);
  expect([host.files.stat("/srv"), below.files.list("/srv")]).toEqual([null, ["old"]]);
});

test("a folder that was cleared forgets what was foreseen at every depth, and nothing of what begins with its name", () => {
  const { host } = machine();
  for (const folder of ["/srv/a", "/srv/a/b", "/srv2"]) host.files.makeDirectory(folder, {});
  for (const file of ["/srv/a/x", "/srv/a/b/x", "/srv2/x"]) host.files.writeFile(file, Buffer.from("x"), {});
  host.files.clear("/srv");
  for (const folder of ["/srv/a", "/srv/a/b"]) {
    host.files.makeDirectory(folder, {});
    expect(host.files.list(folder)).toEqual([]);
  }
  expect(host.files.list("/srv2")).toEqual(["x"]);
});

test("a link is read where one is foreseen, and what is none, or taken away, says so", () => {
  const { below, host } = machine();
  for (const name of ["/srv/gone", "/srv/file", "/srv/new"]) below.files.makeSymlink(name, "etc");
  host.files.removeFile("/srv/gone");
  host.files.writeFile("/srv/file", Buffer.from("x"), {});
  host.files.makeSymlink("/srv/new", "/etc/passwd");
  const read = (path: string): unknown => {
    try {
      return host.files.readLink(path);
    } catch (error) {
      return (error as { details?: unknown }).details;
    }
  };
  expect(["/srv/gone", "/srv/file", "/srv/new"].map(read)).toEqual([
    { path: "/srv/gone", errno: "ENOENT" },
    { path: "/srv/file", errno: "EINVAL" },
    "/etc/passwd",
  ]);
});

test("what is foreseen of the root folder is told of it, and hides nothing in it", () => {
  const { below, host } = machine();
  const { mode } = below.files.stat("/")!;
  host.files.setAttributes("/", { mode: 0o700 });
  host.files.writeFile("/new", Buffer.from("x"), {});
  expect([host.realPath("/"), host.files.stat("/")?.mode, below.files.stat("/")?.mode]).toEqual([
    "/",
    0o700,
    mode,
  ]);
  expect(host.files.list("/")).toEqual([...below.files.list("/"), "new"].toSorted());
  expect(host.takeWritten()).toEqual(["/", "/new"]);
});

test("below a folder was looked where any look led there, unless that very place is foreseen", () => {
  const { below, host } = machine();
  below.files.makeSymlink("/way", "/srv");
  const hasLooked = (...paths: string[]): boolean => {
    host.forgetQuestions();
    for (const path of paths) host.files.stat(path);
    return host.hasLookedBelow("/srv");
  };
  host.files.writeFile("/srv/known", Buffer.from("x"), {});
  expect(hasLooked("/etc/passwd", "/srv/there", "/other")).toBe(true);
  expect(hasLooked("/way/there", "/etc")).toBe(true);
  expect(hasLooked("/srv", "/srv2/there", "/srv/known", "/way/known")).toBe(false);
  below.files.makeSymlink("/round", "round");
  expect(hasLooked("/etc")).toBe(false);
});

// Ways are remembered from the first change on.
test.each([{ changed: [] }, { changed: ["/other"] }])(
  "what takes the place of a link cuts off the paths through it, after changes of $changed",
  ({ changed }) => {
    for (const isForeseen of [false, true]) {
      const below = new MemoryHost();
      below.files.makeDirectory("/a", {});
      below.files.writeFile("/a/x", Buffer.from("x"), {});
      const host = new ForeseenHost(below);
      const { files } = host;
      (isForeseen ? host : below).files.makeSymlink("/l", "/a");
      for (const path of changed) files.writeFile(path, Buffer.from("other"), {});
      expect(files.stat("/l/x")?.kind).toBe("file");
      files.writeFile("/l", Buffer.from("no link"), {});
      expect(files.stat("/l/x")).toBeNull();
      expect(() => files.writeFile("/l/x", Buffer.from("y"), {})).toThrow(
        "a part of the path is not a folder",
      );
      expect(Buffer.from(files.readFile("/a/x")).toString()).toBe("x");
    }
  },
);

test.each(["/etc", "../../etc", "srv/../../etc"])(
  "a foreseen link to %s leads out of the root folder of a confined machine",
  (target) => {
    const { files } = new ForeseenHost(new MemoryHost({ isConfined: true }));
    files.makeSymlink("/l", target);
    expect(() => files.stat("/l/x")).toThrow(expect.objectContaining({ code: "PATH_OUTSIDE_ROOT" }));
  },
);

test("accounts are those of the account file as it was foreseen last", () => {
  const below = new MemoryHost({ users: { root: 0 } });
  below.files.makeDirectory("/etc", {});
  const { files, users } = new ForeseenHost(below);
  const write = (...names: string[]): void => {
    const lines = names.map((name, at) => `${name}:x:${1000 + at}:100::/:/bin/sh\n`);
    files.writeFile("/etc/passwd", Buffer.from(lines.join("")), { mode: 0o644 });
  };
  expect(users.userId("root")).toBe(0);
  write("ann");
  expect([users.userId("ann"), users.userName(1000), users.userId("root")]).toEqual([1000, "ann", null]);
  write("bob", "ann");
  expect([users.userId("ann"), users.userName(1000)]).toEqual([1001, "bob"]);
});

test("a home that is handed over keeps what is of another user or group in it, and what is beside it", () => {
  const host = new MemoryHost();
  for (const folder of ["/home", "/home/web", "/home/web2"])
    host.files.makeDirectory(folder, { uid: 7, gid: 70 });
  const owners = [7, 9].flatMap((uid) => [70, 90].map((gid) => ({ uid, gid })));
  const pathOf = (folder: string, { uid, gid }: { uid: number; gid: number }): string =>
    `/home/${folder}/${uid}-${gid}`;
  for (const folder of ["web", "web2"])
    for (const owner of owners) host.files.writeFile(pathOf(folder, owner), Buffer.from(""), owner);
  const { files } = new ForeseenHost(host);
  files.handOver("/home/web", { from: { uid: 7, gid: 70 }, to: { uid: 8, gid: 80 } });
  const seen = (path: string) => [files.stat(path)?.uid, files.stat(path)?.gid];
  expect(owners.map((owner) => seen(pathOf("web", owner)))).toEqual([
    [8, 80],
    [8, 90],
    [9, 80],
    [9, 90],
  ]);
  expect(["/home/web", "/home"].map(seen)).toEqual([
    [8, 80],
    [7, 70],
  ]);
  expect(owners.map((owner) => seen(pathOf("web2", owner)))).toEqual(
    owners.map(({ uid, gid }) => [uid, gid]),
  );
});

test("a program that asks about a home that is handed over, or what is in it, asks in vain", async () => {
  const { host } = machine({ tell: () => ({}) });
  host.files.handOver("/srv", { from: { uid: 7, gid: 70 }, to: { uid: 8, gid: 80 } });
  const isVain = async (word: string): Promise<boolean> => {
    host.forgetQuestions();
    await host.run({ argv: ["tell", word], asks: true }, signal);
    return host.askedInVain().isInVain;
  };
  for (const word of ["/srv", "/srv/site", "/srv/"]) expect(await isVain(word), word).toBe(true);
  for (const word of ["/srv2", "/etc", "/sr"]) expect(await isVain(word), word).toBe(false);
});
