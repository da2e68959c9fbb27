import { appendFileSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MemoryStorage } from "fleetwright";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import { readAdminKeys } from "../../../adapters/cli/admin-keys.ts";
import { runIn, startCommandLine, startSignedIn } from "../../support/command-line.ts";
import { failCall } from "../../support/small-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("signing in", () => {
  it("keeps a session in a file that only its owner can read", async () => {
    const { run, key, folder, server } = await startCommandLine();
    expect(await run("login", "--key", key)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Signed in to ${server.url} as admin-`),
    });
    const profile = join(folder, "home", "profile.json");
    expect(statSync(profile).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(profile, "utf8"))).toMatchObject({ url: server.url, key });
    expect((await run("whoami")).stdout).toMatch(/^admin-\w+, Admin, at http/);
  });

  it("happens again by itself when the server has forgotten the session", async () => {
    const { run, server, folder } = await startSignedIn();
    const path = join(folder, "home", "profile.json");
    const { token } = JSON.parse(readFileSync(path, "utf8")) as { token: string };
    const session = await server.orchestrator.access.authenticate(token, { request_id: "test" });
    await server.orchestrator.access.signOut(session);
    expect(await run("agents", "list")).toMatchObject({ code: 0 });
    expect((JSON.parse(readFileSync(path, "utf8")) as { token: string }).token).not.toBe(token);
  });

  it.each([
    ["is in a folder that can't be entered", "there/key", /there\/key can't be read \(ELOOP\)/, 2],
    ["is gone", "gone", /UNAUTHENTICATED: .+\n {2}Sign in with/, 4],
    ["was in a folder that is a file now", "profile.json/key", /UNAUTHENTICATED: .+\n {2}Sign in with/, 4],
  ])("tells where its key %s, once it is needed", async (_, name, told, code) => {
    const { run, server, folder } = await startSignedIn();
    const home = join(folder, "home");
    // Root may enter every folder, but no circle of links.
    symlinkSync("there", join(home, "there"));
    const path = join(home, "profile.json");
    const profile = JSON.parse(readFileSync(path, "utf8")) as { token: string };
    writeFileSync(path, JSON.stringify({ ...profile, key: join(home, name) }));
    expect(await run("whoami")).toMatchObject({ code: 0 });
    const session = await server.orchestrator.access.authenticate(profile.token, { request_id: "test" });
    await server.orchestrator.access.signOut(session);
    expect(await run("whoami")).toMatchObject({ code, stderr: expect.stringMatching(told) });
  });

  it("is asked for with an exit code of its own", async () => {
    const { run } = await startCommandLine();
    const result = await run("agents", "list");
    expect(result).toMatchObject({ code: 4, stdout: "" });
    expect(result.stderr).toMatch(
      /^fleetwright: UNAUTHENTICATED: .+\n {2}Sign in with `fleetwright login`\.\n$/,
    );
  });

  it("is refused with a key that the server does not know", async () => {
    const { run } = await startCommandLine();
    expect(await run("init")).toMatchObject({ code: 0 });
    expect(await run("login")).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/SIGNATURE_INVALID: .*\n.*`fleetwright operators add`/),
    });
  });

  it("is over after logout, although the key is still there", async () => {
    const { run, print } = await startSignedIn();
    expect(await print("logout")).toBe("Signed out.\n");
    expect(await run("whoami")).toMatchObject({ code: 4 });
  });

  it("is over after logout on this machine, although the server is away", async () => {
    const { run, server, folder } = await startSignedIn();
    const path = join(folder, "home", "profile.json");
    const profile = (): object => JSON.parse(readFileSync(path, "utf8")) as object;
    const { token, ...rest } = profile() as { token: string };
    await server.close();
    const result = await run("logout");
    expect([result.code, token]).not.toEqual([0, undefined]);
    expect(profile()).toEqual(rest);
  });

  it.each(["a logout", "a login elsewhere", "a login with another key"])(
    "%s in another shell counts, whatever session a command had to open meanwhile",
    async (how) => {
      const { print, server, folder, key } = await startSignedIn();
      const other = await startSignedIn();
      const path = join(folder, "home", "profile.json");
      const profile = (): { url: string; token?: string } => JSON.parse(readFileSync(path, "utf8"));
      const { access } = server.orchestrator;
      await print(
        "operators",
        "add",
        "ada",
        createKeyFile(join(temporaryFolder(), "key")).publicKey,
        "--role",
        "Viewer",
      );
      const another = join(temporaryFolder(), "key");
      await print("operators", "add", "eve", createKeyFile(another).publicKey);
      let left = {};
      const meanwhile = async (): Promise<void> => {
        await access.signOut(await access.authenticate(profile().token!, { request_id: "test" }));
        if (how === "a logout") await runIn(folder, ["logout"]);
        else if (how === "a login elsewhere")
          await runIn(folder, ["login", "--key", other.key], other.server.url);
        else await runIn(folder, ["login", "--key", another], server.url);
        left = profile();
      };
      const removed = await runIn(folder, ["operators", "remove", "ada"], undefined, {
        typed: "y",
        meanwhile,
      });
      expect(removed).toMatchObject({ code: 0, stdout: "ada is removed.\n" });
      expect(profile()).toEqual(left);
      const wanted = {
        "a logout": { url: server.url, key },
        "a login elsewhere": { url: other.server.url, key: other.key },
        "a login with another key": { url: server.url, key: another },
      }[how];
      expect(left).toMatchObject(wanted!);
      expect("token" in left).toBe(how !== "a logout");
    },
  );
});

describe("a new user", () => {
  it("makes a key and is let in by an Admin", async () => {
    const { print, folder, server } = await startSignedIn();
    const user = temporaryFolder();
    const made = await runIn(user, ["init", "--username", "ada", "--json"]);
    const { public_key } = JSON.parse(made.stdout) as { public_key: string };
    expect(statSync(join(user, "home", "key")).mode & 0o777).toBe(0o600);
    await print("operators", "add", "ada", public_key, "--role", "Viewer");
    expect(await runIn(user, ["login"], server.url)).toMatchObject({ code: 0 });
    expect(await runIn(user, ["tags", "list"])).toMatchObject({ code: 0 });
    expect(await runIn(user, ["modules", "remove", "--yes", "web"])).toMatchObject({
      code: 1,
      stderr: "fleetwright: FORBIDDEN: Your role does not allow this.\n  It takes the role Operator.\n",
    });
    expect(await print("operators", "remove", "--yes", "ada")).toBe("ada is removed.\n");
    expect(await runIn(user, ["tags", "list"])).toMatchObject({ code: 4 });
    expect(folder).not.toBe(user);
  });

  it("keeps the key that is there", async () => {
    const user = temporaryFolder();
    const first = await runIn(user, ["init", "--json"]);
    expect((await runIn(user, ["init", "--json"])).stdout).toBe(first.stdout);
  });

  it("with the server's data folder becomes Admin at its next start", async () => {
    const user = temporaryFolder();
    const data = temporaryFolder();
    const made = await runIn(user, ["init", "--json", "--data-dir", data]);
    const { public_key } = JSON.parse(made.stdout) as { public_key: string };
    expect(readFileSync(join(data, "admin-keys"), "utf8")).toBe(`${public_key}\n`);
  });

  it("is written on a line of its own among the Admins of a data folder, or not at all", async () => {
    const [user, data] = [temporaryFolder(), temporaryFolder()];
    const path = join(data, "admin-keys");
    const others = `${"ab".repeat(32)} ada`;
    writeFileSync(path, others);
    await runIn(user, ["init"]);
    const { end } = failCall("fsyncSync", 1);
    const failed = await runIn(user, ["init", "--json", "--data-dir", data]);
    expect(failed).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${path} can't be written (EIO)`),
    });
    expect(readFileSync(path, "utf8")).toBe(others);
    end();
    const made = await runIn(user, ["init", "--json", "--data-dir", data]);
    const { public_key } = JSON.parse(made.stdout) as { public_key: string };
    expect(readAdminKeys(data)).toEqual([{ public_key: "ab".repeat(32), username: "ada" }, { public_key }]);
  });

  it("has the name that was given, also as the Admin of a data folder", async () => {
    const [user, data] = [temporaryFolder(), temporaryFolder()];
    const told = await runIn(user, ["init", "--username", "ada"]);
    expect(told.stdout).toMatch(/operators add ada [0-9a-f]{64} --role Operator; then: fleetwright login\n/);
    await runIn(user, ["init", "--username", "ada", "--data-dir", data]);
    const second = temporaryFolder();
    await runIn(second, ["init", "--username", "ADA", "--data-dir", data]);
    appendFileSync(join(data, "admin-keys"), `# nobody\n${"ab".repeat(32)} 1-no-name\n`);
    const [, , third] = readAdminKeys(data);
    expect(third).toEqual({ public_key: "ab".repeat(32), username: "1-no-name" });
    const keys = readAdminKeys(data).slice(0, 2);
    await using server = await startServer({
      storage: new MemoryStorage(),
      adminPublicKeys: keys,
      listen: { port: 0 },
    });
    expect((await runIn(user, ["login"], server.url)).stdout).toContain("as ada, Admin");
    // A name that is taken keeps nobody out of a server that is his.
    expect((await runIn(second, ["login"], server.url)).stdout).toMatch(/as admin-[0-9a-f]{8}, Admin/);
  });

  it("is asked for another name where it can't be one", async () => {
    const user = temporaryFolder();
    for (const name of ["", "two words", "a\nb", "-x"])
      expect(await runIn(user, ["init", `--username=${name}`])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("--username: 1-64 letters"),
      });
    expect(existsSync(join(user, "home"))).toBe(false);
  });

  it("is told to sign in with the new key where the last sign-in was with another", async () => {
    const { print, folder } = await startSignedIn();
    const made = join(folder, "home", "key");
    expect(await print("init", "--username", "me2")).toContain(`then: fleetwright login --key ${made}`);
    const key = readSigner(made).publicKey;
    await print("operators", "add", "me2", key);
    expect(await print("login", "--key", made)).toContain("as me2, Operator");
    expect(await print("login")).toContain("as me2, Operator");
    expect(await print("init", "--username", "me2")).toMatch(/then: fleetwright login\n/);
  });
});
