/** What somebody who owns a folder can do with it while the agent works there. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { LocalFiles } from "../../lib/host/local-files.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { LocalPaths } from "../../lib/host/local-paths.ts";
import { setSpecialAttributes } from "../../lib/host/open-file.ts";
import { type FileServer, serveFiles } from "../support/file-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot)
  console.warn(
    "Skipped: folders of other users: only root can give a folder away, and only Linux holds one.",
  );
const never = new AbortController().signal;
let server: FileServer;
beforeAll(async () => void (server = await serveFiles()));
afterAll(() => server.stop());

function prepare(): { base: string; home: string; sub: string; secret: string; host: LocalHost } {
  const base = temporaryFolder();
  const [home, sub, secret] = [join(base, "home"), join(base, "home/sub"), join(base, "secret")];
  for (const folder of [home, sub, secret]) mkdirSync(folder, { mode: 0o755 });
  for (const folder of [home, sub]) chownSync(folder, stranger, stranger);
  writeFileSync(join(secret, "file"), "root's\n", { mode: 0o600 });
  return { base, home, sub, secret, host: new LocalHost({ stateFolder: join(base, "state") }) };
}

/** What the owner of the home does: his folder goes, and a link stands there. */
function swap(sub: string, secret: string): void {
  renameSync(sub, `${sub}.moved`);
  symlinkSync(secret, sub);
  lchownSync(sub, stranger, stranger);
}

const open = (): number => readdirSync("/proc/self/fd").length;

describe.runIf(isRoot)("a folder of somebody else", () => {
  test("stays the one that was found for as long as a call takes", () => {
    const { sub, secret } = prepare();
    new LocalPaths().use(join(sub, "file"), (real, lasting) => {
      swap(sub, secret);
      writeFileSync(real, "ours");
      expect(lasting).toBe(join(sub, "file"));
    });
    expect(readFileSync(join(`${sub}.moved`, "file"), "utf8")).toBe("ours");
    expect(readdirSync(secret)).toEqual(["file"]);
  });

  test("stays the one that was found while a file is downloaded into it", async () => {
    const { sub, secret, host } = prepare();
    server.files["/slow"] = (_request, response) => {
      swap(sub, secret);
      response.end("hello");
    };
    const sha256 = host.sha256(Buffer.from("hello"));
    await host.download({ url: `${server.url}/slow`, path: join(sub, "got"), sha256, attributes: {} }, never);
    expect(readdirSync(`${sub}.moved`)).toEqual(["got"]);
    expect(readdirSync(secret)).toEqual(["file"]);
    await host.barrier();
  });

  test("is where a program works that began in it", async () => {
    const { sub, secret, host } = prepare();
    const script = `mv ${sub} ${sub}.moved && ln -s ${secret} ${sub} && touch here`;
    await host.run({ argv: ["/bin/sh", "-c", script], cwd: sub }, never);
    expect(readdirSync(`${sub}.moved`)).toEqual(["here"]);
    expect(readdirSync(secret)).toEqual(["file"]);
  });

  test("gives a program the file that was found, and no link", async () => {
    const { sub, secret, host } = prepare();
    writeFileSync(join(sub, "file"), "his");
    const script = `sleep 0.05; mv ${sub} ${sub}.moved; ln -s ${secret} ${sub}; cat "$1"`;
    const opens = { "%it": join(sub, "file") };
    const { stdout } = await host.run({ argv: ["/bin/sh", "-c", script, "sh", "%it"], opens }, never);
    expect(stdout).toBe("his");
    rmSync(sub);
    renameSync(`${sub}.moved`, sub);
    symlinkSync(join(secret, "file"), join(sub, "link"));
    const linked = host.run({ argv: ["cat", "%it"], opens: { "%it": join(sub, "link") } }, never);
    await expect(linked).rejects.toMatchObject({ details: { errno: "ELOOP" } });
  });

  test("is synced where it is, not where its path leads by then", async () => {
    const { base, sub, host } = prepare();
    execFileSync("mkfifo", [join(base, "pipe")]);
    host.files.writeFile(join(sub, "file"), Buffer.from("x"), {});
    swap(sub, base);
    for (let index = 0; index < 100; index += 1)
      host.files.writeFile(join(base, `file-${index}`), Buffer.from("x"), {});
    await expect(host.barrier()).resolves.toBeUndefined();
  });

  test("gives up none of the files of others by a second name", async () => {
    const { sub, secret, host } = prepare();
    const path = join(sub, "file");
    linkSync(join(secret, "file"), path);
    const refusal = expect.objectContaining({ details: expect.objectContaining({ errno: "EMLINK" }) });
    for (const act of [
      () => host.files.readFile(path),
      () => host.files.hashFile(path),
      () => host.files.compareFile(path, Buffer.from("")),
      () => host.files.setAttributes(path, { uid: stranger }),
      () => host.files.writeFile(path, Buffer.from(""), {}),
      () => host.backups.save(path),
    ])
      expect(act).toThrow(refusal);
    const shown = host.run({ argv: ["cat", "%it"], opens: { "%it": path } }, never);
    await expect(shown).rejects.toEqual(refusal);
    expect(statSync(join(secret, "file"))).toMatchObject({ uid: 0, nlink: 2 });
    // What keeps nothing of it takes its place, and a name can always go.
    host.files.writeFile(path, Buffer.from("new"), { mode: 0o600, uid: stranger, gid: stranger });
    expect(readFileSync(join(secret, "file"), "utf8")).toBe("root's\n");
    linkSync(path, `${path}2`);
    expect(Buffer.from(host.files.readFile(path)).toString()).toBe("new");
    host.files.removeFile(path);
  });

  test.each([
    ["extras of another's file", (host: LocalHost, path: string) => host.files.extras(path)],
    [
      "what a plan asks of a change of owner",
      (host: LocalHost, path: string) => host.files.requireChangeable(path, "attributes", { uid: 0 }),
    ],
    [
      "what a plan asks of a write",
      (host: LocalHost, path: string) => host.files.requireChangeable(path, "write", {}),
    ],
  ])("gives up none of the files of others by a second name: %s", (_what, act) => {
    const { sub, secret, host } = prepare();
    const path = join(sub, "file");
    linkSync(join(secret, "file"), path);
    expect(() => act(host, path)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ errno: "EMLINK" }) }),
    );
  });

  test("gives a file that is written anew nothing of another's by a second name", ({ skip }) => {
    const { sub, secret, host } = prepare();
    const path = join(sub, "file");
    try {
      execFileSync("setfattr", ["-n", "user.note", "-v", "secret", join(secret, "file")], { stdio: "pipe" });
    } catch (error) {
      console.warn(`Skipped: an attribute can't be set here (${String(error).slice(0, 200)}).`);
      skip("no extended attributes");
    }
    linkSync(join(secret, "file"), path);
    host.files.writeFile(path, Buffer.from("new"), { mode: 0o644, uid: stranger, gid: stranger });
    expect(host.files.extras(path)).toEqual({});
    expect(host.files.extras(join(secret, "file"))).toMatchObject({
      attributes: { "user.note": "c2VjcmV0" },
    });
  });

  test.each(["write", "download"])(
    "puts nothing of his into a file that keeps its other names: %s",
    async (how) => {
      const { sub, host } = prepare();
      const [path, other] = [join(sub, "file"), join(sub, "other")];
      writeFileSync(path, "his");
      chownSync(path, stranger, stranger);
      linkSync(path, other);
      // The temporary file has a name in his folder, which he gives to a file of his own.
      const swapTemporary = (): void => {
        const name = readdirSync(sub).find((each) => each.startsWith(".fleetwright-"));
        renameSync(join(sub, name ?? ""), join(sub, "away"));
        writeFileSync(join(sub, name ?? ""), "evil!");
      };
      if (how === "write") {
        const fill = (fd: number): void => {
          writeSync(fd, "hello");
          swapTemporary();
        };
        await (host.files as LocalFiles).replaceFile(path, { keepLinks: true }, fill);
      } else {
        server.files["/swapped"] = (_request, response) => {
          swapTemporary();
          response.end("hello");
        };
        const sha256 = host.sha256(Buffer.from("hello"));
        const attributes = { keepLinks: true };
        await host.download({ url: `${server.url}/swapped`, path, sha256, attributes }, never);
      }
      expect([readFileSync(path, "utf8"), readFileSync(other, "utf8")]).toEqual(["hello", "hello"]);
    },
  );

  test("changes nothing but the special file that was looked at", () => {
    const { sub, secret } = prepare();
    const path = join(sub, "pipe");
    const refusal = (errno: string): unknown =>
      expect.objectContaining({ details: expect.objectContaining({ errno }) });
    // It was a pipe; by now it is another's file, a folder, or a pipe of his by a second name.
    linkSync(join(secret, "file"), path);
    expect(() => setSpecialAttributes(path, { uid: stranger })).toThrow(refusal("ESTALE"));
    rmSync(path);
    mkdirSync(path);
    expect(() => setSpecialAttributes(path, { mode: 0o777 })).toThrow(refusal("ESTALE"));
    rmSync(path, { recursive: true });
    execFileSync("mkfifo", [join(secret, "pipe")]);
    linkSync(join(secret, "pipe"), path);
    expect(() => setSpecialAttributes(path, { uid: stranger })).toThrow(refusal("EMLINK"));
    expect([statSync(join(secret, "pipe")).uid, statSync(join(secret, "file")).uid]).toEqual([0, 0]);
    rmSync(path);
    execFileSync("mkfifo", [path]);
    setSpecialAttributes(path, { uid: stranger, mode: 0o600 });
    expect(statSync(path)).toMatchObject({ uid: stranger });
  });

  test("gives a program no file of its owner's in the place of the agent's", async () => {
    const { sub, host } = prepare();
    const path = join(sub, "copy");
    const shown = (): Promise<unknown> => host.run({ argv: ["cat", "%it"], opens: { "%it": path } }, never);
    host.files.writeFile(path, Buffer.from("ours"), { fresh: true });
    expect(await shown()).toMatchObject({ stdout: "ours" });
    rmSync(path);
    writeFileSync(path, "his");
    chownSync(path, stranger, stranger);
    await expect(shown()).rejects.toMatchObject({ code: "HOST_ERROR", details: { errno: "ESTALE" } });
  });

  test("lends the agent's own copy nothing of what stood in its place, and no owner", async ({ skip }) => {
    const { sub, host } = prepare();
    const path = join(sub, "copy");
    const prepareTrap = (): void => {
      writeFileSync(path, "his");
      chownSync(path, stranger, stranger);
      execFileSync("setfacl", ["-m", `u:${stranger}:rw`, path], { stdio: "pipe" });
      execFileSync("setfacl", ["-dm", `u:${stranger}:rw`, sub], { stdio: "pipe" });
    };
    try {
      prepareTrap();
    } catch (error) {
      console.warn(`Skipped: an access list can't be set here (${String(error).slice(0, 200)}).`);
      skip("no access lists");
    }
    const sha256 = host.sha256(Buffer.from("hello"));
    const { sha256: kept } = await host.backups.save(path);
    for (const write of [
      () => host.files.writeFile(path, Buffer.from("ours"), { mode: 0o600, fresh: true }),
      () => host.backups.restore(kept, path, { mode: 0o600, fresh: true }),
      () =>
        host.download(
          { url: `${server.url}/hello`, path, sha256, attributes: { mode: 0o600, fresh: true } },
          never,
        ),
    ]) {
      rmSync(path);
      prepareTrap();
      await write();
      expect(statSync(path)).toMatchObject({ uid: 0, gid: 0, mode: 0o100600 });
      expect(host.files.extras(path)).toEqual({});
    }
  });

  test.each([
    ["up from where it leads", "link/../file", "data/file"],
    ["up and down again", "link/../inner/../file", "data/file"],
    ["up twice", "link/../../top", "top"],
    ["up by a second link", "link/up/file", "data/file"],
    ["up in the target of a link", "around/file", "data/file"],
    ["by a link that leads where it stands", "here/file", "file"],
  ])("lets his own link be followed: %s", (_what, way, end) => {
    const { home, host } = prepare();
    for (const folder of ["data", "data/inner"]) {
      mkdirSync(join(home, folder));
      chownSync(join(home, folder), stranger, stranger);
    }
    for (const [name, target] of [
      ["link", "data/inner"],
      ["here", "."],
      ["data/inner/up", ".."],
      ["around", "link/../inner/.."],
    ] as const) {
      symlinkSync(target, join(home, name));
      lchownSync(join(home, name), stranger, stranger);
    }
    const path = `${home}/${way}`;
    host.files.writeFile(path, Buffer.from("x"), {});
    expect(readFileSync(join(home, end), "utf8")).toBe("x");
    expect(host.files.stat(path)?.kind).toBe("file");
  });

  test.each([
    ["up from a folder of his in one of root's", "out/../file"],
    ["up out of his home", "link/../../../secret/file"],
    ["up and by another link", "link/../away/file"],
    ["up to the top", "link/../../../../../../../../../../etc/passwd"],
  ])("lets no way be led out of it: %s", (_what, way) => {
    const { base, home, secret, host } = prepare();
    chmodSync(base, 0o755);
    const his = join(base, "roots/his");
    mkdirSync(his, { recursive: true });
    writeFileSync(join(base, "roots/file"), "root's");
    for (const folder of ["data", "data/inner"]) mkdirSync(join(home, folder));
    for (const folder of [his, join(home, "data"), join(home, "data/inner")])
      chownSync(folder, stranger, stranger);
    for (const [name, target] of [
      ["link", "data/inner"],
      ["out", his],
      ["data/away", secret],
    ] as const) {
      symlinkSync(target, join(home, name));
      lchownSync(join(home, name), stranger, stranger);
    }
    const link = expect.stringMatching(`^${base}/.*(?:link|out|away)$`) as unknown;
    expect(() => host.files.stat(`${home}/${way}`)).toThrow(
      expect.objectContaining({
        message: expect.stringContaining("is not followed: the link"),
        details: { path: `${home}/${way}`, errno: "ELOOP", link },
      }),
    );
    // Not even by standing still in a folder of everybody's.
    mkdirSync(join(base, "sticky"));
    chmodSync(join(base, "sticky"), 0o1777);
    symlinkSync(".", join(base, "sticky/here"));
    lchownSync(join(base, "sticky/here"), stranger, stranger);
    expect(() => host.files.stat(join(base, "sticky/here/file"))).toThrow("is not followed");
  });

  test("is listed as it is, where a link has taken the place of one in it", () => {
    const { home, sub, secret, host } = prepare();
    swap(sub, secret);
    expect(() => host.files.list(sub)).toThrow(expect.objectContaining({ code: "HOST_ERROR" }));
    expect(host.files.list(home)).toEqual(["sub", "sub.moved"]);
  });

  test("leaves no open folder behind, whether it went well or not", () => {
    const { home, sub, secret, host } = prepare();
    symlinkSync(secret, join(home, "link"));
    const before = open();
    for (let index = 0; index < 20; index += 1) {
      host.files.writeFile(join(sub, "file"), Buffer.from("x"), {});
      expect(host.files.ledBy(join(sub, "file"))).toBe(stranger);
      expect(() => host.files.stat(join(home, "link/file"))).toThrow("is not followed");
      expect(host.files.stat(join(home, "none/deep"))).toBeNull();
      expect(() => host.files.ledBy(join(home, "link/file"))).toThrow("is not followed");
    }
    expect(open()).toBe(before);
  });

  test("is noticed within a moment when somebody else gives it away", async () => {
    const { base, secret, host } = prepare();
    const folder = join(base, "roots");
    mkdirSync(folder, { mode: 0o755 });
    symlinkSync(secret, join(folder, "link"));
    expect(host.files.stat(join(folder, "link/file"))?.kind).toBe("file");
    await host.run({ argv: ["chown", String(stranger), folder] }, never);
    expect(() => host.files.stat(join(folder, "link/file"))).toThrow("is not followed");
    expect(lstatSync(folder).uid).toBe(stranger);
  });

  test("is nobody's whose links are followed where an access list lets others write", ({ skip }) => {
    const { base, secret, host } = prepare();
    const folder = join(base, "listed");
    mkdirSync(folder, { mode: 0o755 });
    try {
      execFileSync("setfacl", ["-m", `u:${stranger}:rwx`, folder], { stdio: "pipe" });
    } catch (error) {
      console.log(`Skipped: an access list can't be set here (${String(error).slice(0, 200)}).`);
      skip("no access lists");
    }
    symlinkSync(secret, join(folder, "link"));
    lchownSync(join(folder, "link"), stranger, stranger);
    expect(() => host.files.stat(join(folder, "link/file"))).toThrow("is not followed");
  });
});
