/** What a killed agent was running, with real agents in processes of their own, under each way to hold programs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { CgroupScopes } from "../../lib/host/cgroup-scope.ts";
import { signalProcess } from "../../lib/host/process-table.ts";
import { uuid } from "../support/agent-commands.ts";
import { detachments, loggedProcesses } from "../support/detached.ts";
import { eventually } from "../support/processes.ts";
import { seededRandom } from "../support/random.ts";
import { isSoak } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const agentPath = fileURLToPath(new URL("../support/holding-agent.ts", import.meta.url));
const canGroup = CgroupScopes.open("trial") !== null;
if (!canGroup)
  console.warn("Skipped: programs in cgroups: this process may make none, or is not root on Linux.");
const kinds = canGroup ? ["cgroup", "subreaper"] : ["subreaper"];
const kills = Number(process.env["FLEETWRIGHT_KILLS"] ?? (isSoak ? 100 : 4));

describe.runIf(process.platform === "linux").each(kinds)("an agent that holds programs by %s", (kind) => {
  test("ends what it was running when it was killed, tells so, and only then runs anything", async () => {
    const machine = new Machine(kind);
    machine.script(`${detachments["deaf to SIGTERM"]}\n${detachments["forked twice"]}`, "sleep 300");
    const first = machine.start();
    await machine.untilNoted(3);
    await first.kill("SIGKILL");
    expect(machine.processes().living).toHaveLength(3);
    machine.script("", ":");
    const second = machine.start();
    const cut = await second.says(/^\{.*interrupted.*\}$/m);
    expect(JSON.parse(cut)).toEqual({
      operation_id: uuid(1),
      status: "interrupted",
      error: {
        code: "COMMAND_FAILED",
        message: "The agent was killed. What it had left running was ended: /bin/sh.",
        details: { programs: ["/bin/sh"] },
      },
    });
    await machine.untilNoted(4);
    // A script in the middle would go on writing into a folder that is to go.
    await second.says(/"status":"succeeded"/);
    expect(machine.overlaps()).toBe("");
    // It has begun with the next: killed, it would leave a script that writes into the folder while that is removed.
    await second.kill("SIGTERM");
  });

  test("stops after the change in progress at one SIGTERM, at once with all that runs at the second", async () => {
    const machine = new Machine(kind);
    machine.script(`${detachments["deaf to SIGTERM"]}\n${detachments["forked twice"]}`, "sleep 300");
    const agent = machine.start();
    await machine.untilNoted(3);
    agent.signal("SIGTERM");
    // Two signals that come before it looks are one.
    await agent.says(/^stop 1$/m);
    await pause(300);
    expect(machine.processes().living).toHaveLength(3);
    agent.signal("SIGTERM");
    expect(await agent.exitCode()).toBe(0);
    expect(machine.processes()).toEqual({ noted: 3, living: [] });
    const journal = readFileSync(join(machine.stateDir, "operations", `${uuid(1)}.jsonl`), "utf8");
    const last = JSON.parse(journal.trim().split("\n").at(-1) ?? "") as unknown;
    expect(last).toMatchObject({ record: "finished", result: { status: "interrupted" } });
  });

  test(
    `killed ${kills} times in its scripts, never runs two at a time and leaves nothing`,
    async () => {
      const machine = new Machine(kind);
      const random = seededRandom(1);
      const ways = Object.values(detachments);
      for (let life = 0; life < kills; life += 1) {
        machine.script(ways[life % ways.length] ?? "", `sleep 0.${Math.floor(random() * 4)}`);
        const agent = machine.start();
        const noted = machine.processes().noted;
        await agent.says(/^up$/m);
        // Half of them from the moment when a script is sure to run.
        if (life % 2 === 0) await machine.untilNoted(noted + 1);
        await pause(random() * 500);
        await agent.kill("SIGKILL");
      }
      const before = machine.processes().noted;
      machine.script("", ":");
      const last = machine.start();
      // What was killed last may note something until this one has ended it.
      await last.says(/"status":"succeeded"/);
      await last.kill("SIGTERM");
      expect(machine.overlaps()).toBe("");
      expect(machine.processes().living).toEqual([]);
      console.info(`${kind}: ${kills} kills, ${before} processes of scripts, no two scripts at a time.`);
    },
    60_000 + kills * 10_000,
  );
});

/** A folder with an agent's state, a script, and what it noted. */
class Machine {
  readonly folder = temporaryFolder();
  readonly stateDir = join(this.folder, "state");
  readonly #kind: string;
  readonly #seed = toHex(nodeCrypto.createSigningKeyPair().secretKey);
  #lives = 0;

  constructor(kind: string) {
    this.#kind = kind;
    mkdirSync(this.stateDir);
    const note = `echo "sleeper $$ $(cut -d' ' -f22 /proc/$$/stat)" >> ${this.folder}/log`;
    writeFileSync(join(this.folder, "sleeper"), `${note}\nwhile :; do sleep 0.1; done\n`);
    onTestFinished(() => {
      for (const living of this.processes().living) signalProcess(living, "SIGKILL");
    });
  }

  /** A script that looks for others, notes itself, detaches something, works, and ends what it detached. */
  script(detach: string, work: string): void {
    const text = `cd ${this.folder}
touch log
while read -r what pid begun; do
  now=$(awk '$3 != "Z" { print $22 }' /proc/$pid/stat 2>/dev/null) || true
  if [ "$now" = "$begun" ]; then echo "$$ began while $what $pid ran" >> overlaps; fi
done < log
echo "script $$ $(cut -d' ' -f22 /proc/$$/stat)" >> log
before=$(wc -l < log)
printf %s '${detach.replaceAll("'", "'\\''")}' > body
sh ./body ${this.folder}/sleeper
# What is detached and has not come up yet would be left, on purpose, by a script that ends now.
while [ -s body ] && [ "$(wc -l < log)" -eq "$before" ]; do sleep 0.01; done
${work}
while read -r what pid begun; do
  if [ "$pid" != $$ ] && [ "$(cut -d' ' -f22 /proc/$pid/stat 2>/dev/null)" = "$begun" ]; then kill -9 $pid || true; fi
done < log
sleep 0.05
`;
    writeFileSync(join(this.folder, "script"), text.replace("sh ./body ", 'sh -c "$(cat body)" '));
  }

  start(): Life {
    this.#lives += 1;
    const first = String(this.#lives * 1000 - 999);
    return new Life([this.stateDir, this.#seed, this.#kind, first, join(this.folder, "script")]);
  }

  processes(): ReturnType<typeof loggedProcesses> {
    return loggedProcesses(join(this.folder, "log"));
  }

  async untilNoted(atLeast: number): Promise<void> {
    await eventually(`${atLeast} processes are noted`, () => this.processes().noted >= atLeast);
  }

  overlaps(): string {
    const path = join(this.folder, "overlaps");
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }
}

/** One life of an agent. */
class Life {
  readonly #child;
  readonly #exited;
  #stdout = "";

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, ["--import", "tsx", agentPath, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#exited = once(this.#child, "close");
    createInterface(this.#child.stdout).on("line", (line) => (this.#stdout += `${line}\n`));
    onTestFinished(() => this.kill("SIGKILL"));
  }

  async says(pattern: RegExp): Promise<string> {
    await eventually(`it says ${pattern}`, () => pattern.test(this.#stdout));
    return pattern.exec(this.#stdout)?.[0] ?? "";
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async kill(name: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill(name);
    await this.#exited;
  }

  async exitCode(): Promise<number | null> {
    await this.#exited;
    return this.#child.exitCode;
  }
}
