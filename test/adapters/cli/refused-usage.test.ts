/** What can be seen to be meant otherwise from the line alone. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runIn } from "../../support/command-line.ts";
import { recordAnswers, refuseWrite } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const which = "Name agents, or say --selector or --all-pending";
const drift = "--status and --selector are for the list of all agents";
const pair = "--cron and --duration go together.";
const window = "windows create --mode mute --reason x";
const names = "A --file says itself which agents get which names.";
const rename = "Say `rename AGENT NAME`";

test.each([
  ["agents approve", which],
  ["agents approve --yes a --all-pending", which],
  ["agents approve --selector a=b --all-pending --yes", which],
  ["agents approve a b --name c --yes", "A --name is for one agent."],
  ["agents approve --all-pending --name c --yes", "A --name is for one agent."],
  ["agents approve a --selector b=c --name d --yes", "A --name is for one agent."],
  ["agents reject --yes", which],
  ["agents reject a b", "Nobody can be asked here: say --yes."],
  ["agents tag a --yes", "Say --set KEY=VALUE, or --unset KEY."],
  ["agents rename --file none a", names],
  ["agents rename --file none --from hostname", names],
  ["agents rename --file none --selector a=b", names],
  ["agents rename a", rename],
  ["agents rename a b c", rename],
  ["agents rename --selector a=b", rename],
  ["agents rename a b --selector a=b", rename],
  ["agents reject-pending --yes", "Say which: --network, --disconnected, or --all."],
  ["assignments update web", "Say what is to be changed."],
  ["assignments update web --time-zone UTC", "--time-zone is that of --schedule; give both."],
  ["assignments update web --no-schedule --time-zone UTC", "--time-zone is that of --schedule; give both."],
  ["audit verify none --head none", "A head is looked for in the log, not in exported files."],
  ["channels create a --type ntfy --enable", "unknown option '--enable'"],
  ["drift a --status drifted", drift],
  ["drift a --selector a=b", drift],
  ["drift a --limit 3", "A --limit is for --list."],
  ["drift a --last --limit 3", "A --limit is for --list."],
  ["drift --last", "Name the agent whose checks are asked for."],
  ["drift --list", "Name the agent whose checks are asked for."],
  ["notifications mute", "Say what to mute: kinds of notifications, or --below."],
  ["run -- uptime", "Give --on or --agent."],
  ["run --on a=b --agent c -- uptime", "Give --on or --agent."],
  ["run --on a=b", "Give a command after --, or --script."],
  ["run --on a=b --script none -- uptime", "Give a command after --, or --script."],
  ["thresholds create a --metric load.1", "Give --above or --below."],
  [window, "Give --for, --until or --cron."],
  [`${window} --cron @daily`, pair],
  [`${window} --duration 5`, pair],
  [`${window} --for 2h --time-zone UTC`, pair],
  [`${window} --cron @daily --time-zone UTC`, pair],
  ["agent --url http://a --root=", "--root is empty."],
  ["agent --url http://a --state-dir=", "--state-dir is empty."],
  ["agent", "--url or --discover is missing"],
  ["agent --url a", '"a" is no ws, wss, http or https address.'],
  ["agent --url http://a --discover", "--url and --discover are two ways to the same end: give one."],
  ["agent --discover 0", "--discover takes a UDP port, 1 to 65535."],
  ["agent --discover 65536", "--discover takes a UDP port, 1 to 65535."],
  ["terminal replay 0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11 --speed 0", "--speed must be a number above 0."],
  ["terminal replay 0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11 --speed x", "--speed must be a number above 0."],
  ["man agents --write none", "--write writes all pages: name no command."],
])("%s is refused before anything is asked", async (line, told) => {
  const sent = recordAnswers(refuseWrite);
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home"));
  const profile = { url: "http://fleet.example", key: join(folder, "none"), token: "t" };
  writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
  const { code, stdout, stderr } = await runIn(folder, line.split(" "));
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(told);
  expect(sent).toEqual([]);
});

test("what stands behind -- is the command's of a machine, and asks for no JSON", async () => {
  const folder = temporaryFolder();
  const told = async (line: string): Promise<string> => (await runIn(folder, line.split(" "))).stderr;
  for (const words of ["--json", "-o json", "--output json", "--output=json", "-ojson"]) {
    expect(await told(`run -- tool ${words}`)).toBe("fleetwright: Give --on or --agent.\n");
    expect(JSON.parse(await told(`run ${words} -- tool`))).toMatchObject({ code: "USAGE", exit_code: 2 });
  }
});

test.each(["--help", "--version", "agents --help", "agents list --help"])(
  "%s is no failure, also for programs",
  async (words) => {
    const { code, stdout, stderr } = await runIn(temporaryFolder(), ["--json", ...words.split(" ")]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).not.toBe("");
  },
);

test.each([
  ["url = http://b\n", "--url http://a"],
  ["discover = true\n", "--url http://a"],
  ["discover = 4747\n", "--url http://a"],
  ["url = http://b\n", "--discover"],
  ["discover = 4747\n", "--discover"],
])("an agent whose file says %j takes %s in its place", async (file, words) => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "agent.conf"), file);
  const line = ["agent", "--config", join(folder, "agent.conf"), ...words.split(" "), "--token", "t"];
  const { code, stderr } = await runIn(folder, line);
  // The way to the server is good; a token without its key is not.
  expect([code, stderr]).toEqual([2, expect.stringContaining("An enrolment token needs --orchestrator-key")]);
});
