import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readAgentConfig } from "../../../adapters/cli/work/agent-config.ts";
import { freePort } from "../../support/free-port.ts";
import { Program } from "../../support/processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const key = "ab".repeat(32);

function read(content: string) {
  const file = join(temporaryFolder(), "agent.conf");
  writeFileSync(file, content);
  return readAgentConfig({ readInput: () => Promise.resolve("") }, file);
}

describe("the file of an installed agent", () => {
  it("has a line for each option", async () => {
    const lines = [
      "# a comment",
      "url = https://fleet.example",
      `orchestrator_key=${key}`,
      "token_file = /etc/token",
      "terminals = false",
      "commands = true",
      'terminal_user = "web"',
      "log_level = warn",
      "discover = false",
    ];
    const { options, places } = await read(lines.join("\n"));
    expect(places.get("terminals")).toMatch(/agent\.conf: line 5: terminals$/);
    expect(options).toEqual({
      url: "https://fleet.example",
      orchestratorKey: key,
      tokenFile: "/etc/token",
      terminals: false,
      commands: true,
      terminalUser: "web",
      logLevel: "warn",
      discover: false,
    });
  });

  it("tells every fault by its line, and not what stands there", async () => {
    const token = `fwt_${"a".repeat(43)}`;
    const lines = [
      `token = ${token}`,
      "url = http://a",
      "url = http://b",
      "commands = maybe",
      "log_level = loud",
      "state_dir =",
    ];
    const refusal = await read(lines.join("\n")).catch((error: Error) => error.message);
    expect(refusal).toMatch(
      /line 1 .*none.*; line 3 says url again; line 4: .*true or false; line 5: .*; line 6: .*folder/,
    );
    expect(refusal).not.toContain(token);
    await expect(read("url https://fleet.example")).rejects.toThrow("agent.conf: Line 1 is no NAME=value.");
    await expect(readAgentConfig({ readInput: () => Promise.resolve("") }, "/nowhere")).rejects.toThrow(
      "can't be read",
    );
  });

  it.each([
    ["url = fleet.example", /line 1: url is a ws, wss, http or https address/],
    ["url = ftp://fleet.example", /line 1: url is/],
    ["\ndiscover = 0", /line 2: discover is true, false or a UDP port, 1 to 65535/],
    ["discover = 65536", /line 1: discover is/],
    [`orchestrator_key = ${key}0`, /line 1: orchestrator_key is a key: 32 bytes/],
    ["terminal_shell = bash", /line 1: terminal_shell is the absolute path/],
    ["url = http://a\ndiscover = true", /line 2: url and discover are two ways to the same end; give one\.$/],
    ["discover = 4747\nurl = http://a", /line 2: url and discover are two ways/],
  ])("tells at which line it can't be right: %j", async (content, told) => {
    await expect(read(content)).rejects.toThrow(told);
  });
});

async function run(content: string, environment: Record<string, string> = {}, ...options: string[]) {
  const folder = temporaryFolder();
  const file = join(folder, "agent.conf");
  writeFileSync(file, content);
  const args = ["agent", "--config", file, "--state-dir", join(folder, "state"), ...options];
  const program = new Program(args, environment);
  onTestFinished(() => program[Symbol.asyncDispose]());
  return program;
}

describe("an agent with a file", () => {
  it("goes by discover of it, be there an address in the environment", async () => {
    const program = await run(`discover = ${await freePort()}\n`, {
      FLEETWRIGHT_URL: "http://127.0.0.1:1",
    });
    const [told] = await program.says(/^Orchestrator .*$/m);
    expect(told).toMatch(/ the one that announces itself$/);
  });

  const byUrl = / ws:\/\/127\.0\.0\.1:2\/agent\/v1$/;
  const byDiscovery = / the one that announces itself$/;
  it.each([
    ["url = http://127.0.0.1:1", "--url", byUrl],
    ["discover = true", "--url", byUrl],
    ["url = http://127.0.0.1:1", "--discover", byDiscovery],
    ["discover = true", "--discover", byDiscovery],
  ])("goes by what is given beside it: %s and %s", async (content, option, told) => {
    const value = option === "--url" ? "http://127.0.0.1:2" : `${await freePort()}`;
    const program = await run(`${content}\n`, {}, option, value);
    const [line] = await program.says(/^Orchestrator .*$/m);
    expect(line).toMatch(told);
  });

  it("goes by the address in the environment where it has none", async () => {
    const program = await run("discover = false\n", { FLEETWRIGHT_URL: "http://127.0.0.1:1" });
    const [told] = await program.says(/^Orchestrator .*$/m);
    expect(told).toMatch(/ ws:\/\/127\.0\.0\.1:1\/agent\/v1$/);
  });

  it.each([
    ["ca_file = /nowhere", /agent\.conf: line 2: ca_file \/nowhere is no certificate/],
    ["root = /nowhere", /agent\.conf: line 2: root: /],
    [`orchestrator_key = ${"00".repeat(32)}`, /agent\.conf: line 2: orchestrator_key: /],
  ])("tells in which file and line it is wrong: %s", async (line, told) => {
    const program = await run(`url = http://127.0.0.1:1\n${line}\n`);
    expect(await program.exited()).not.toBe(0);
    expect(program.stderr).toMatch(told);
  });
});
