/** Each exit code stands in the table of docs/command-line.md, and a command ends with it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { exitCode } from "../../../adapters/cli/context.ts";
import { runIn, startSignedIn, startSocketAgent } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const commands: Readonly<Record<keyof typeof exitCode, readonly string[]>> = {
  ok: ["whoami"],
  failure: ["agents", "show", "nobody"],
  usage: ["agents", "shwo"],
  differs: ["plan", "web-1", "--module", "web"],
  unfinished: ["apply", "web-1", "--module", "web", "--no-wait"],
  notSignedIn: ["whoami"],
};

it("they are those of the documentation, and each is what a command ends with", async () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/command-line.md"), "utf8");
  const [, table = ""] = /## Exit codes\n([^]*?)\n\n[^|]/.exec(page) ?? [];
  const told = [...table.matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code));
  expect(told).toEqual(Object.values(exitCode).toSorted());

  const line = await startSignedIn();
  const { agent } = await startSocketAgent(line);
  const { orchestrator } = line.server;
  const node_id = agent.nodeId ?? "";
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name: "web-1" });
  const file = join(line.folder, "web.yaml");
  writeFileSync(file, "name: web\nresources:\n  - { type: file, path: /hello, content: hello }\n");
  await line.print("modules", "upload", file);
  const ended: Record<string, number> = {};
  for (const [name, args] of Object.entries(commands)) {
    if (name === "notSignedIn") await line.print("logout");
    ended[name] = (await line.run(...args)).code;
  }
  expect(ended).toEqual(exitCode);
});

it.each([
  [["agnets"], "fleetwright: unknown command 'agnets'\n"],
  [["agents", "list", "--nmae"], "fleetwright: unknown option '--nmae'\n"],
  [["agents", "show"], "fleetwright: missing required argument 'agent'\n"],
])("%j is told as other errors are", async (args, told) => {
  const { code, stderr } = await runIn(temporaryFolder(), args);
  expect([code, stderr.slice(0, told.length)]).toEqual([2, told]);
});

it.each(["nonsense", "localhost:4748", "http://", "ftp://fleet.example", ""])(
  "%j in the place of the server's address is a fault of usage, typed or from the environment",
  async (url) => {
    const told = `${JSON.stringify(url)} is no address of a server, such as https://fleet.example.com.`;
    for (const args of [["whoami"], ["login"], ["apply", "web-1"]])
      expect(await runIn(temporaryFolder(), ["--url", url, ...args])).toEqual({
        code: 2,
        stdout: "",
        stderr: `fleetwright: ${told}\n`,
      });
    const problem = await runIn(temporaryFolder(), ["whoami", "--json"], url === "" ? "x" : url);
    expect(JSON.parse(problem.stderr)).toMatchObject({ code: "USAGE", exit_code: 2 });
  },
);

it.each(["http://ada:secret@127.0.0.1:1", "http://127.0.0.1:1/?secret"])(
  "%j in the place of the server's address is a fault of usage, and is not repeated",
  async (url) => {
    for (const args of [["whoami"], ["login"], ["apply", "web-1"]]) {
      const { code, stderr } = await runIn(temporaryFolder(), ["--url", url, ...args]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/must (?:not name a user|have no query)/)]);
      expect(stderr).not.toContain("secret");
    }
  },
);

it.each([
  [["modules", "upload", "-"]],
  [["module", "check", "-"]],
  [["local", "plan", "-"]],
  [["run", "--on", "*", "--script", "-"]],
  [["agents", "rename", "--file", "-"]],
  [["secrets", "import", "--from-env-file", "-"]],
  [["channels", "create", "x", "--type", "webhook", "--config", "-"]],
])("%j with nothing on standard input is one, too, and nothing is sent", async (args) => {
  const { code, stdout, stderr } = await runIn(temporaryFolder(), args, "http://127.0.0.1:9", "");
  expect([code, stdout, stderr]).toEqual([2, "", "fleetwright: Standard input is empty.\n"]);
});

it.each(["key", "key.pub"])("a %s that can't be read is a fault of usage", async (name) => {
  const key = join(temporaryFolder(), name);
  expect(await runIn(temporaryFolder(), ["--url", "http://127.0.0.1:1", "login", "--key", key])).toEqual({
    code: 2,
    stdout: "",
    stderr: `fleetwright: ${key} can't be read (ENOENT).\n`,
  });
});
