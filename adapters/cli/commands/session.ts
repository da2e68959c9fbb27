import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import type { Status, Summary } from "fleetwright";
import { isOrchestratorError } from "fleetwright/errors";
import { ApiError } from "../../client/api-error.ts";
import { createClient } from "../../client/client.ts";
import { createKeyFile, readSigner } from "../../client/node-signer.ts";
import { addAdminKey } from "../admin-keys.ts";
import type { CommandCall, Run } from "../call.ts";
import type { TableView } from "../cells.ts";
import { UsageError } from "../failure.ts";
import { pinKey, readKey } from "../orchestrator-keys.ts";
import {
  keyPath,
  makePrivateFolder,
  readProfile,
  requireProfileName,
  serverUrl,
  setIn,
  useProfile,
  writeProfile,
} from "../profile.ts";
import { describeSummary } from "../show-summary.ts";
import { openSigner, toKeyName } from "../sign-in-key.ts";
import { quote, toFacts, toLine, toLines, toTable } from "../text.ts";
import type { Column } from "../text.ts";

/** `fleetwright init|login|logout|whoami|status` */
export function addSessionCommands(program: Command, run: Run): void {
  program
    .command("init")
    .description("make a key pair to sign in with")
    .option("--username <name>", "your name as an operator")
    .option("--data-dir <folder>", "the data folder of a server on this machine: become its Admin")
    .action(run(async (call, options: InitOptions) => init(call, options)));
  program
    .command("login")
    .description("sign in")
    .option(
      "--key <file>",
      "private key, PEM or OpenSSH; ssh-agent, or a public key whose private half it holds; default that of the last login, or else the one that init made",
    )
    .option("--orchestrator-key <hex>", "the key that the server must have; takes the place of a pinned one")
    .action(run(login));
  program
    .command("use <profile>")
    .description("use another profile from now on: its server, key and session; login fills a new one")
    .action(
      run(async (call, name: string) => {
        const environment = { ...call.context.environment, FLEETWRIGHT_PROFILE: requireProfileName(name) };
        const profile = readProfile({ ...call.context, environment });
        useProfile(call.context, name);
        const next = profile ? `at ${profile.url}` : "empty: sign in with `fleetwright login --url URL`";
        const text = toLine(`${name} is used from now on, ${next}.`);
        call.show({ profile: name, url: profile?.url ?? null }, () => toLines([text]), { name });
        const other = setIn(call.context.environment, "FLEETWRIGHT_URL");
        if (other !== undefined && other !== profile?.url)
          call.context.stderr(toLines([toLine(`FLEETWRIGHT_URL is set: commands still go to ${other}.`)]));
      }),
    );
  program.command("logout").description("end the session").action(run(logout));
  program.command("whoami").description("tell who is signed in").action(run(whoami));
  program
    .command("status")
    .description("tell whether the server works, how the fleet fares and what needs somebody")
    .action(run(showStatus));
}

interface InitOptions {
  username?: string;
  dataDir?: string;
}

async function init(call: CommandCall, { username, dataDir }: InitOptions): Promise<void> {
  if (username !== undefined) await checkName(username);
  const path = keyPath(call.context);
  makePrivateFolder(dirname(path));
  const { publicKey } = existsSync(path) ? readSigner(path) : createKeyFile(path);
  // Whoever has signed in with another key goes on with that one, unless told otherwise.
  const isOther = (readProfile(call.context)?.key ?? path) !== path;
  const signIn = `fleetwright login${isOther ? ` --key ${quote(path)}` : ""}`;
  const next =
    dataDir === undefined
      ? `an Admin runs: fleetwright operators add ${quote(username ?? "me")} ${publicKey} --role Operator; then: ${signIn}`
      : `${becomeAdmin(dataDir, publicKey, username)}, then: ${signIn}`;
  call.show({ public_key: publicKey, key: path }, () =>
    toFacts([
      ["Key", path],
      ["Public key", publicKey],
      ["Next", next],
    ]),
  );
}

/** Here, where somebody can still choose another one. */
async function checkName(username: string): Promise<void> {
  const { schemas } = await import("fleetwright");
  const { error } = schemas.addOperatorInput.shape.username.safeParse(username);
  if (error) throw new UsageError(`--username: ${error.issues[0]?.message ?? "can't be a name"}.`);
}

function becomeAdmin(dataDir: string, publicKey: string, username: string | undefined): string {
  const folder = resolve(dataDir);
  if (!existsSync(folder)) throw new UsageError(`There is no folder ${folder}.`);
  addAdminKey(folder, { public_key: publicKey, ...(username !== undefined && { username }) });
  return "start the server again";
}

interface LoginOptions {
  key?: string;
  orchestratorKey?: string;
}

async function login(call: CommandCall, options: LoginOptions): Promise<void> {
  const { context } = call;
  const before = readProfile(context);
  const url = serverUrl(context, call.options.url, before);
  const key = await toKeyName(context, options.key ?? before?.key ?? keyPath(context));
  const pin = pinKey(context, { url, profile: before }, readKey(options.orchestratorKey));
  const signer = openSigner(context, key);
  const client = createClient({ url, fetch: call.fetch, signer, ...pin.options });
  const session = await client.signIn().catch((error: unknown) => {
    // Whoever is asked to add it needs it.
    if (error instanceof ApiError && error.code === "SIGNATURE_INVALID")
      call.tellNotice(`The public key of ${key} is ${signer.publicKey}.`);
    throw error;
  });
  try {
    writeProfile(context, pin.keep({ ...before, url, key, token: session.token }));
  } catch (error) {
    // Nobody has its token.
    await client.signOut().catch(() => {});
    throw error;
  }
  warnOfReaders(call, key);
  const { operator, expires_at } = session;
  const text = `Signed in to ${url} as ${operator.username}, ${operator.role}.`;
  call.show({ operator, expires_at }, () => toLines([text]), { name: operator.username });
}

/** Whoever can read a key is its owner. */
function warnOfReaders(call: CommandCall, key: string): void {
  const { mode } = statSync(key, { throwIfNoEntry: false }) ?? { mode: 0 };
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    call.tellNotice(`Other users of this machine can read ${key}, or change it: chmod 600 ${quote(key)}`);
}

async function logout(call: CommandCall): Promise<void> {
  const profile = readProfile(call.context);
  if (profile?.token === undefined) return call.show(null, () => "Nobody was signed in.\n");
  const { token, ...rest } = profile;
  // Forgotten here first: whatever the server says, this machine can't use it any more.
  try {
    writeProfile(call.context, rest);
  } finally {
    await createClient({ url: profile.url, fetch: call.fetch, token }).signOut();
  }
  call.show(null, () => "Signed out.\n");
}

async function whoami(call: CommandCall): Promise<void> {
  const session = await call.client.auth.session();
  const { username, role } = session.operator;
  const text = `${username}, ${role}, at ${call.client.url}`;
  call.show(session, () => toLines([text]), { name: username });
}

async function showStatus(call: CommandCall): Promise<void> {
  const { client } = call;
  const status = await client.status.get();
  const summary = status.checks ? await findSummary(client) : null;
  call.show({ ...status, ...(summary && { summary }) }, (view) =>
    [
      describeStatus({ url: client.url, status, view }),
      ...(summary ? ["\n", describeSummary(summary, status.status === "ok")] : []),
    ].join(""),
  );
}

/** Null where the server is of before there was one. */
async function findSummary(client: CommandCall["client"]): Promise<Summary | null> {
  try {
    return await client.summary.get();
  } catch (error) {
    if (isOrchestratorError(error, "NOT_FOUND")) return null;
    throw error;
  }
}

function describeStatus({
  url,
  status: told,
  view,
}: {
  url: string;
  status: Status;
  view: TableView;
}): string {
  const { status, version, public_key, checks = [] } = told;
  const facts = toFacts([
    ["url", url],
    ["status", status],
    ["version", version],
    ["orchestrator key", public_key],
  ]);
  if (checks.length === 0) return facts;
  const columns: readonly Column<(typeof checks)[number]>[] = [
    ["CHECK", (check) => check.name],
    ["STATUS", (check) => check.status],
    ["DETAIL", (check) => check.detail],
  ];
  return facts + toTable(checks, columns, view);
}
