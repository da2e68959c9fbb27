/** Real processes use a canary in every way that there is: it is found where a module puts it, and nowhere else. */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, it } from "vitest";
import type { Client } from "fleetwright/client";
import { endOf, eventually, Program, startFleetMember, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const canary = "c4nary/w1th+'quotes\" & <ünï>";
const second = "5econd-c4nary-value-that-is-newer";
const binary = Buffer.from([0xff, 0x00, 0xc4, 0x0a, 0x11, 0x80, 0x7f, 0x99, 0x42]);

/** The forms in which either would be found, without what surrounds it. */
const traces = [canary, second, binary].flatMap((value) => {
  const bytes = Buffer.from(value);
  const within = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
  const text = bytes.toString();
  const forms = [
    ...within,
    bytes.toString("hex"),
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
  ];
  // Half of it gives it away, too.
  return forms.map((form) => form.slice(0, Math.max(8, form.length >> 1)));
});

function findTraces(text: string): string[] {
  return traces.filter((trace) => text.includes(trace));
}

/** Every file below a folder that holds a trace. */
function filesWithTraces(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) return [];
    const bytes = readFileSync(path);
    return [bytes.toString(), bytes.toString("latin1")].some((text) => findTraces(text).length > 0)
      ? [relative(folder, path)]
      : [];
  });
}

const module = (root: string): string => `name: site
resources:
  - id: conf
    type: file
    path: /conf
    mode: "0600"
    content: |
      plain={{ secrets.db }}
      json={{ secrets.db | json }}
      shell={{ secrets.db | shell_quote }}
      base64={{ secrets.bytes | base64_encode }}
      url={{ secrets.db | url_encode }}
  - id: part
    type: block
    path: /shared.conf
    name: ours
    content: "token {{ secrets.db }}"
  - id: own
    type: script
    run: "printf %s {{ secrets.db | shell_quote }}; echo ran"
    environment: { TOKEN: "{{ secrets.db }}" }
    run_on: [conf]
  - id: show
    type: script
    run: "cat ${root}/conf; base64 -w 20 ${root}/conf; od -An -tx1 ${root}/conf | tr -d ' \\n'; head -c 12 ${root}/conf; sleep 0.5; tail -c +13 ${root}/conf"
    run_on: [conf]
  - id: fail
    type: script
    run: "cat ${root}/conf >&2; exit 7"
    on_failure: continue
    run_on: [conf]
`;

it("a secret is in no file, log, event and answer after it was planned, applied, changed, checked and backed up", async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, "data");
  const answers: unknown[] = [];
  const say = async <Answer>(answer: Promise<Answer>): Promise<Answer> => {
    const told = await answer;
    answers.push(told);
    return told;
  };
  await using server = await startServerProcess(dataDir);
  const { client } = server;
  await using agent = await startFleetMember(join(folder, "web-1"), server);
  writeFileSync(join(agent.root, "shared.conf"), "theirs\n");
  const options = { idempotencyKey: "the-first-try" };
  await say(client.secrets.create({ name: "db", value: canary, description: "Canary" }, options));
  await say(client.secrets.create({ name: "db", value: canary, description: "Canary" }, options));
  await say(client.secrets.create({ name: "bytes", value: binary.toString("base64"), encoding: "base64" }));
  await say(client.modules.upload({ content: module(agent.root) }));
  const run = { modules: ["site"] };
  await applyAndRead(client, { nodeId: agent.nodeId, run, say });
  expect(readFileSync(join(agent.root, "conf"), "utf8")).toContain(`plain=${canary}\n`);
  await say(client.secrets.update("db", { value: second }));
  expect((await say(client.agents.list({ secret_before: "db@2" }))).items).toHaveLength(1);
  await applyAndRead(client, { nodeId: agent.nodeId, run, say });
  writeFileSync(join(agent.root, "conf"), `changed by hand, ${second}\n`);
  const check = await say(client.drift.check(agent.nodeId, { wait_seconds: 60 }));
  expect(check.status).toBe("drifted");
  await say(client.drift.get(check.drift_id));
  await say(client.state.believed(agent.nodeId));
  await sendWithSecret(client, say);
  await say(client.secrets.rotateKey());
  await say(client.secrets.list());
  await say(client.secrets.get("db"));
  await say(client.audit.list({ limit: 500 }));
  await say(client.operations.list({ limit: 100 }));
  await client.secrets
    .create({ name: "x", value: `${canary}${"\ud800"}` })
    .catch((error: unknown) => answers.push(error));
  await client.secrets.create({ name: "db", value: canary }).catch((error: unknown) => answers.push(error));
  const home = { FLEETWRIGHT_HOME: join(folder, "home"), FLEETWRIGHT_URL: server.url };
  await using login = new Program(["login", "--key", join(dataDir, "admin-key")], home);
  expect(await login.exited()).toBe(0);
  await using backup = new Program(["backup", join(folder, "fleet.backup")], home);
  expect(await backup.exited()).toBe(0);
  await using exported = new Program(["audit", "export", "--file", join(folder, "audit.jsonl")], home);
  expect(await exported.exited()).toBe(0);
  expect(readFileSync(join(folder, "audit.jsonl"), "utf8")).toContain("secret.created");
  await server.program.end();
  await agent.program.end();

  expect(answers.length).toBeGreaterThan(20);
  expect(findTraces(JSON.stringify(answers))).toEqual([]);
  expect(findTraces(answers.map(String).join("\n"))).toEqual([]);
  const printed = [server, agent].map(({ program }) => program.stdout + program.stderr).join("\n");
  expect(findTraces(printed)).toEqual([]);
  // What the module put there itself, and nothing else: no state of the agent, no data of the server, no backup.
  expect(filesWithTraces(folder).toSorted()).toEqual(["web-1/root/conf", "web-1/root/shared.conf"]);
  const key = readFileSync(join(dataDir, "secrets.key"), "utf8").trim();
  expect(statSync(join(dataDir, "secrets.key")).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, "fleet.backup")).includes(Buffer.from(key, "hex"))).toBe(false);
  expect(readFileSync(join(folder, "fleet.backup"), "latin1")).not.toContain(key);
});

/** Has a channel whose address is a secret fail, in a test and with messages, and reads all that is told of it. */
async function sendWithSecret(
  client: Client,
  say: <Answer>(answer: Promise<Answer>) => Promise<Answer>,
): Promise<void> {
  await say(client.secrets.create({ name: "hook", value: `https://127.0.0.1:9/${second}` }));
  const given = { name: "chat", type: "slack", config: { url: "secret:hook" } };
  const { id } = await say(client.channels.create(given));
  expect(await say(client.channels.test(id))).toMatchObject({ delivered: false });
  await say(client.secrets.create({ name: "unused", value: `${canary} and more` }));
  await say(client.secrets.remove("unused"));
  await eventually("a message failed", async () => {
    const { items } = await say(client.channels.deliveries(id));
    return items.some(({ error }) => error !== undefined);
  });
  await say(client.channels.get(id));
  await say(client.notifications.list());
}

/** Plans and applies, and reads all that is told of it. */
async function applyAndRead(
  client: Client,
  {
    nodeId,
    run,
    say,
  }: { nodeId: string; run: object; say: <Answer>(answer: Promise<Answer>) => Promise<Answer> },
): Promise<void> {
  const { operation_id: plan_id } = await say(client.state.plan(nodeId, run));
  expect(await say(client.operations.get(plan_id))).toMatchObject({ status: "succeeded" });
  const { operation_id } = await say(client.state.apply(nodeId, { ...run, wait_seconds: 0 }));
  const steps: unknown[] = [];
  for await (const step of client.operations.watch(operation_id)) steps.push(step);
  await say(Promise.resolve(steps));
  const ended = await say(endOf(client, operation_id));
  expect(ended.status).toBe("partial");
  const output = await say(client.operations.output(nodeId, { operation_id }));
  expect(JSON.stringify(output)).toContain("(sensitive)");
  expect(output.output.map(({ resource_id }) => resource_id)).not.toContain("own");
}

it("a server does not start without the key of its secrets, and makes no other", async () => {
  const dataDir = join(temporaryFolder(), "data");
  {
    await using server = await startServerProcess(dataDir);
    await server.client.secrets.create({ name: "db", value: canary });
    await server.program.end();
  }
  const key = readFileSync(join(dataDir, "secrets.key"));
  const refused = async (environment: Record<string, string> = {}): Promise<string> => {
    await using program = new Program(["serve", "--port", "0", "--data-dir", dataDir], environment);
    expect(await program.exited()).toBe(1);
    return program.stderr;
  };
  rmSync(join(dataDir, "secrets.key"));
  expect(await refused()).toContain("SECRETS_KEY_WRONG");
  expect(readdirSync(dataDir)).not.toContain("secrets.key");
  expect(await refused({ FLEETWRIGHT_SECRETS_KEY: "11".repeat(32) })).toContain("SECRETS_KEY_WRONG");
  const environment = { FLEETWRIGHT_SECRETS_KEY_COMMAND: `echo ${key.toString().trim()}` };
  await using server = await startServerProcess(dataDir, 0, environment);
  expect((await server.client.secrets.list()).items).toHaveLength(1);
});
