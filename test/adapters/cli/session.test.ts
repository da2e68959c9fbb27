import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runIn, startCommandLine, startSignedIn } from "../../support/command-line.ts";
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
      stderr: expect.stringContaining("SIGNATURE_INVALID"),
    });
  });

  it("is over after logout, although the key is still there", async () => {
    const { run, print } = await startSignedIn();
    expect(await print("logout")).toBe("Signed out.\n");
    expect(await run("whoami")).toMatchObject({ code: 4 });
  });
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
    expect(await runIn(user, ["modules", "remove", "web"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("FORBIDDEN"),
    });
    expect(await print("operators", "remove", "ada")).toBe("ada is removed.\n");
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
});
