import type { Command } from "commander";
import type { CreatedEnrolmentToken, EnrolmentToken } from "fleetwright";
import { makeSure, sureOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { findListed } from "../find-id.ts";
import { duration, gatherTag, integer, limitOption, type TagOptions } from "../options.ts";
import { pinnedKey } from "../orchestrator-keys.ts";
import { readProfile, serverUrl } from "../profile.ts";
import { idColumn, quote, timeColumn, toFacts, toLine, toLines, type Column } from "../text.ts";

/** Where the printed commands put a token. */
const tokenFile = "fleetwright-token";

/** How a token is asked for. */
interface TokenOptions {
  name?: string;
  uses?: number;
  expires?: number;
  tag?: TagOptions;
}

const columns: readonly Column<EnrolmentToken>[] = [
  ["ID", ({ id }) => id, idColumn],
  ["NAME", ({ name }) => name],
  ["STATUS", ({ status }) => status.replace("_", " ")],
  ["USED", ({ used, uses }) => `${used} of ${uses}`],
  ["EXPIRES", ({ expires_at }) => expires_at, timeColumn],
  ["TAGS", tagsOf],
];

/** `fleetwright enrol ...` */
export function addEnrolCommands(program: Command, run: Run): void {
  const enrol = program
    .command("enrol")
    .alias("enroll")
    .description("tokens that stand in for an operator's approval of many machines");
  enrol
    .command("token")
    .description("make a token; the agents that come with it are approved and tagged")
    .option("--name <text>", "what it is called")
    .option("--uses <number>", "how many machines it approves, default 1", integer(1, 100_000))
    .option("--expires <duration>", "for how long, such as 30m, 24h or 7d; default 24h", duration)
    .option("--tag <key=value>", "a tag of these agents; may be given more than once", gatherTag)
    .action(run(makeToken));
  enrol
    .command("list")
    .description("list tokens, newest first; none says what it is")
    .option(...limitOption)
    .action(
      run((call, options: { limit?: number }) =>
        call.showList(call.client.enrolmentTokens.list, options, columns),
      ),
    );
  enrol
    .command("show <id>")
    .description("show how often a token was used, and whether it still counts")
    .action(
      run(async (call, typed: string) => {
        const token = await call.client.enrolmentTokens.get(await findToken(call, typed));
        call.show(token, () => toFacts(factsOf(token)));
      }),
    );
  enrol
    .command("revoke <id>")
    .description("have a token approve nobody any more; the agents that it approved stay")
    .option(...sureOption)
    .action(
      run(async (call, typed: string, options: SureOptions) => {
        const id = await findToken(call, typed);
        await makeSure(call, options, `Revoke the token ${id}`);
        await call.client.enrolmentTokens.revoke(id);
        call.show(null, () => toLines(["The token is revoked."]));
      }),
    );
}

function findToken({ client }: CommandCall, typed: string): Promise<string> {
  const { list } = client.enrolmentTokens;
  return findListed("token", typed, { list, aboutOf: ({ name, status }) => name ?? status });
}

async function makeToken(call: CommandCall, { name, uses, expires, tag }: TokenOptions): Promise<void> {
  // First: a token that nobody could be told how to use would be made in vain.
  const place = await machinePlace(call);
  const made: CreatedEnrolmentToken = await call.client.enrolmentTokens.create({
    ...(name !== undefined && { name }),
    ...(uses !== undefined && { uses }),
    ...(expires !== undefined && { expires_in_seconds: expires }),
    ...(tag !== undefined && { tags: tag }),
  });
  call.show(made, () =>
    [
      toFacts([["Token", made.token], ...factsOf(made)]),
      toLines([
        "",
        "The token is shown this once. On each machine, where the first line waits for it: paste it, then Enter and Ctrl-D.",
        "So it is in no history of a shell.",
        "",
        `  (umask 077 && cat > ${tokenFile})`,
        `  fleetwright agent --url ${quote(toLine(place.agentUrl))} --orchestrator-key ${place.key} --token-file ${tokenFile}`,
        "",
        "Where nothing is installed yet and the server has agents to give, this in place of the last line installs one as a service:",
        "",
        `  curl -fsS ${quote(toLine(`${place.url}/install.sh`))} | sudo sh -s -- --token-file ${tokenFile}`,
        ...(isLoopback(place.url)
          ? [
              "",
              `${new URL(place.url).hostname} is this machine alone: elsewhere use the address that machines reach the server by. Its setting`,
              "FLEETWRIGHT_AGENT_URL puts it here.",
            ]
          : []),
      ]),
    ].join(""),
  );
}

/** Where a machine reaches the server, and the one key that it is to obey. */
async function machinePlace(call: CommandCall): Promise<{ url: string; agentUrl: string; key: string }> {
  const profile = readProfile(call.context);
  const own = serverUrl(call.context, call.options.url, profile);
  const { public_key, agent_url } = await call.client.status.get();
  const key = pinnedKey(profile, own) ?? public_key;
  // Operators may be signed in by an address of their own, such as loopback on the server's machine.
  if (agent_url === undefined) return { url: own, agentUrl: own, key };
  const { origin, pathname } = new URL(agent_url.replace(/^ws/, "http"));
  const below = /^(.*)\/agent\/v1\/?$/.exec(pathname)?.[1] ?? "";
  return { url: origin + below, agentUrl: agent_url, key };
}

function isLoopback(url: string): boolean {
  return /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(new URL(url).hostname);
}

function factsOf(token: EnrolmentToken): (readonly [name: string, value: unknown])[] {
  return [
    ["Id", token.id],
    ["Name", token.name],
    ["Status", token.status.replace("_", " ")],
    ["Used", `${token.used} of ${token.uses}`],
    ["Tags", tagsOf(token)],
    ["Expires", token.expires_at],
    ["Created", `${token.created_at} by ${token.created_by}`],
    ["Last used", token.last_used_at],
    ["Revoked", token.revoked_at],
  ];
}

function tagsOf({ tags }: EnrolmentToken): string | undefined {
  const pairs = Object.entries(tags).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? undefined : pairs.join(", ");
}
