/** The folder of the user, with its key and profiles: where it is not, can't be written, or is another command's, too. */
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { runCommandLine } from "fleetwright/cli";
import { processContext } from "../../../adapters/cli/process-context.ts";
import { homeFolder, profileName, useProfile } from "../../../adapters/cli/profile.ts";
import {
  runIn,
  startCommandLine,
  startSignedIn,
  startSocketAgent,
  type CommandLine,
} from "../../support/command-line.ts";
import { limitWrites } from "../../support/small-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

type Fields = Record<string, unknown>;

function profilePath({ folder }: Pick<CommandLine, "folder">): string {
  return join(folder, "home", "profile.json");
}

function readProfile(line: Pick<CommandLine, "folder">): Fields {
  return JSON.parse(readFileSync(profilePath(line), "utf8")) as Fields;
}

/** Has the server forget the session, so that the next call needs another. */
async function endSession({ server, folder }: CommandLine): Promise<void> {
  const { token } = readProfile({ folder });
  const session = await server.orchestrator.access.authenticate(String(token), { request_id: "test" });
  await server.orchestrator.access.signOut(session);
}

describe("the folder of the user", () => {
  it.each([
    ["FLEETWRIGHT_HOME", { FLEETWRIGHT_HOME: "/keys", HOME: "/home/ada" }, "/keys"],
    ["HOME", { FLEETWRIGHT_HOME: "", HOME: "/home/ada" }, "/home/ada/.config/fleetwright"],
    ["the system's, where HOME is empty", { HOME: "" }, join(userInfo().homedir, ".config", "fleetwright")],
  ])("is %s", (_, environment, folder) => {
    expect(homeFolder({ ...processContext, environment })).toBe(folder);
  });

  it("is below XDG_CONFIG_HOME, unless there is one from before that was obeyed", () => {
    const [home, config] = [temporaryFolder(), temporaryFolder()];
    const folder = (environment: Record<string, string>) => homeFolder({ ...processContext, environment });
    const set = { HOME: home, XDG_CONFIG_HOME: config };
    expect(folder(set)).toBe(join(config, "fleetwright"));
    expect(folder({ ...set, FLEETWRIGHT_HOME: "/keys" })).toBe("/keys");
    for (const none of ["", "config"])
      expect(folder({ ...set, XDG_CONFIG_HOME: none })).toBe(join(home, ".config", "fleetwright"));
    mkdirSync(join(home, ".config", "fleetwright"), { recursive: true });
    expect(folder(set)).toBe(join(home, ".config", "fleetwright"));
    mkdirSync(join(config, "fleetwright"));
    expect(folder(set)).toBe(join(config, "fleetwright"));
  });

  it("is the one from before also where only the system knows the home, and one of XDG_CONFIG_HOME for who has none", () => {
    const [home, config] = [temporaryFolder(), temporaryFolder()];
    const environment = { XDG_CONFIG_HOME: config };
    const folder = (ofSystem: () => string) => homeFolder({ ...processContext, environment }, ofSystem);
    const none = (): string => {
      throw new OrchestratorError("CONFIGURATION_INVALID");
    };
    expect(folder(() => home)).toBe(join(config, "fleetwright"));
    mkdirSync(join(home, ".config", "fleetwright"), { recursive: true });
    expect(folder(() => home)).toBe(join(home, ".config", "fleetwright"));
    expect(folder(none)).toBe(join(config, "fleetwright"));
  });

  it("has no part in the folder that a command runs in, where its variables are empty", async () => {
    const told: string[] = [];
    const code = await runCommandLine(["whoami"], {
      ...processContext,
      stderr: (text) => void told.push(text),
      environment: {
        FLEETWRIGHT_HOME: "",
        HOME: temporaryFolder(),
        FLEETWRIGHT_URL: "",
      },
    });
    expect(told.join("")).toMatch(/UNAVAILABLE: http:\/\/127\.0\.0\.1:4748 |UNAUTHENTICATED/);
    expect(code).not.toBe(0);
  });

  it("is named where it can't be made", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "home"), "");
    const { code, stderr } = await runIn(folder, ["init"]);
    expect(stderr).toBe(
      `fleetwright: CONFIGURATION_INVALID: ${join(folder, "home")} can't be written (EEXIST); FLEETWRIGHT_HOME names another folder for keys and profiles.\n`,
    );
    expect(code).toBe(1);
  });
});

describe("a profile", () => {
  it("that can't be written is named by a sign-in, which leaves no session behind", async () => {
    const line = await startCommandLine();
    mkdirSync(join(line.folder, "home"));
    const disk = limitWrites({ piece: 10, all: 20 });
    const { code, stderr } = await line.run("login", "--key", line.key);
    disk.end();
    expect(stderr).toContain(`CONFIGURATION_INVALID: ${profilePath(line)} can't be written (ENOSPC); `);
    expect(code).toBe(1);
    expect(existsSync(profilePath(line))).toBe(false);
    const { items } = await line.server.orchestrator.audit.list(systemCaller, {
      event_type: "operator.signedOut",
    });
    expect(items).toHaveLength(1);
  });

  it("that can't be written ends no command whose session was renewed", async () => {
    const line = await startSignedIn();
    await endSession(line);
    const before = readProfile(line);
    const disk = limitWrites({ piece: 10, all: 0 });
    const { code, stderr } = await line.run("agents", "list");
    disk.end();
    expect(stderr).toContain(`The new session is not kept: ${profilePath(line)} can't be written (ENOSPC)`);
    expect(code).toBe(0);
    expect(readProfile(line)).toEqual(before);
  });

  it("of somebody who signed in elsewhere meanwhile stays theirs", async () => {
    const line = await startSignedIn();
    await startSocketAgent(line);
    const elsewhere = { ...readProfile(line), url: "http://127.0.0.1:9", token: "other" };
    const meanwhile = async (): Promise<void> => {
      await endSession(line);
      writeFileSync(profilePath(line), JSON.stringify(elsewhere));
    };
    const context = [line.folder, ["agents", "approve", "--all-pending"], line.server.url] as const;
    expect(await runIn(...context, { typed: "y\n", meanwhile })).toMatchObject({ code: 0 });
    expect(readProfile(line)).toEqual(elsewhere);
  });

  it("keeps the key that another sign-in pinned meanwhile", async () => {
    const line = await startSignedIn();
    await startSocketAgent(line);
    const before = readProfile(line);
    const pins = { ...(before["orchestrator_keys"] as Fields), "http://127.0.0.1:9": "ab".repeat(32) };
    const meanwhile = async (): Promise<void> => {
      await endSession(line);
      writeFileSync(profilePath(line), JSON.stringify({ ...before, orchestrator_keys: pins }));
    };
    const approve = ["agents", "approve", "--all-pending"];
    const done = await runIn(line.folder, approve, line.server.url, { typed: "y\n", meanwhile });
    expect(done).toMatchObject({ code: 0 });
    const { token, orchestrator_keys } = readProfile(line);
    expect(token).not.toBe(before["token"]);
    expect(orchestrator_keys).toEqual(pins);
  });

  it.each([
    ["cut short", '{ "url": "http', "is damaged; `fleetwright login` writes it anew once it is gone."],
    ["empty", "", "is damaged; `fleetwright login` writes it anew once it is gone."],
  ])("that is %s says so", async (_, text, told) => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "home"));
    writeFileSync(profilePath({ folder }), text);
    expect((await runIn(folder, ["whoami"])).stderr).toBe(
      `fleetwright: CONFIGURATION_INVALID: ${profilePath({ folder })} ${told}\n`,
    );
  });

  it("that can't be read says why", async () => {
    const folder = temporaryFolder();
    mkdirSync(profilePath({ folder }), { recursive: true });
    expect((await runIn(folder, ["whoami"])).stderr).toBe(
      `fleetwright: CONFIGURATION_INVALID: ${profilePath({ folder })} can't be read (EISDIR).\n`,
    );
  });

  it("is the usual one where its variable is empty, and a name of nothing is none", async () => {
    const context = { ...processContext, environment: { FLEETWRIGHT_HOME: temporaryFolder() } };
    const nameOf = (name: string) =>
      profileName({ ...context, environment: { ...context.environment, FLEETWRIGHT_PROFILE: name } });
    expect([nameOf(""), nameOf("lab")]).toEqual(["default", "lab"]);
    useProfile(context, "site");
    expect(nameOf("")).toBe("site");
    const refused = await runIn(temporaryFolder(), ["whoami", "--profile", ""]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("CONFIGURATION_INVALID") });
  });

  it("that is not there is not taken for the usual one", async () => {
    const line = await startCommandLine();
    const login = ["login", "--key", line.key, "--url", line.server.url];
    expect(await runIn(line.folder, [...login, "--profile", "lab"])).toMatchObject({ code: 0 });
    expect(await runIn(line.folder, ["whoami", "--profile", "Lab"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `fleetwright: There is no profile Lab. Did you mean "lab"? \`fleetwright login --url URL --profile Lab\` makes it.\n`,
    });
    const told: string[] = [];
    for (const FLEETWRIGHT_URL of ["", undefined]) {
      const home = join(line.folder, "home");
      const environment = { FLEETWRIGHT_HOME: home, FLEETWRIGHT_PROFILE: "Lab", FLEETWRIGHT_URL };
      const stderr = (text: string): void => void told.push(text);
      expect(await runCommandLine(["whoami"], { ...processContext, environment, stderr })).toBe(2);
      expect(told.join("")).toContain("There is no profile Lab.");
      told.length = 0;
    }
  });
});

it("a key that others can read is told of at the sign-in", async () => {
  const line = await startCommandLine();
  for (const [mode, isOfOthers] of [
    [0o400, false],
    [0o700, false],
    [0o640, true],
    [0o620, true],
    [0o604, true],
    [0o602, true],
  ] as const) {
    chmodSync(line.key, mode);
    const { stderr } = await line.run("login", "--key", line.key);
    expect(stderr.includes("chmod 600"), mode.toString(8)).toBe(isOfOthers);
  }
  chmodSync(line.key, 0o600);
  expect((await line.run("login", "--key", line.key)).stderr).not.toContain("chmod");
  chmodSync(line.key, 0o644);
  const { code, stderr } = await line.run("login", "--key", line.key);
  expect(stderr).toContain(
    `Other users of this machine can read ${line.key}, or change it: chmod 600 ${line.key}\n`,
  );
  expect(code).toBe(0);
});
