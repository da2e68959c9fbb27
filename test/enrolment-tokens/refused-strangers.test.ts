/** Bounds of what strangers with tokens that don't count can have told, and of what a token can put on an agent. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";

const introductionOf = (n: number) => ({
  node_id: n.toString(16).padStart(32, "0"),
  public_key: n.toString(16).padStart(64, "0"),
  box_public_key: "0".repeat(64),
  hostname: `machine-${n}`,
  platform: "linux",
  agent_version: "1.0.0",
});

/** Has a stranger come from an address; tells how it was taken in. */
async function come(
  test: TestOrchestrator,
  n: number,
  from: { remote_address?: string | null; enrolment_token: string },
): Promise<string> {
  const introduction = { ...introductionOf(n), remote_address: null, ...from };
  return (await servicesOf(test.orchestrator).agents.enrolment.admit(introduction)).status;
}

const told = (test: TestOrchestrator): number =>
  test.events.filter(({ event_type }) => event_type === "enrolmentToken.refused").length;

describe("of refused strangers who come from ever new addresses, ten a minute are told for each network", () => {
  const group = (n: number): string => n.toString(16);
  it.each<[string, (n: number) => string | null, number]>([
    ["one address", () => "198.51.100.1", 10],
    ["one address, written as one of IPv6", (n) => `${n % 2 ? "::ffff:" : ""}198.51.100.1`, 10],
    ["one network of IPv6", (n) => `2001:db8:0:1::${group(n)}`, 10],
    ["one network of IPv6, anywhere in it", (n) => `2001:db8:0:1:${group(n)}::1`, 10],
    ["networks of IPv6, each of which is another", (n) => `2001:db8:0:${group(n)}::1`, 30],
    ["addresses, each of which is another", (n) => `198.51.100.${n}`, 30],
    ["no address that is known", () => null, 10],
  ])("%s", async (_, addressOf, count) => {
    await using test = await createTestOrchestrator({ pendingAgents: 1_000 });
    for (let n = 1; n <= 30; n += 1)
      await come(test, n, { remote_address: addressOf(n), enrolment_token: "wrong" });
    expect(told(test)).toBe(count);
  });
});

it.each([
  [63, "approved"],
  [64, "approved"],
  [65, "pending"],
])("an agent that would have %i tags with those of the token is then %s", async (count, status) => {
  await using test = await createTestOrchestrator();
  const { agents, enrolmentTokens } = test.orchestrator;
  const tagsOf = (prefix: string, many: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: many }, (_, n) => [`${prefix}${n}`, "x"]));
  const { node_id } = introductionOf(1);
  await come(test, 1, { enrolment_token: "wrong" });
  await agents.tags.replace(systemCaller, { node_id, tags: tagsOf("a", 40) });
  const { token } = await enrolmentTokens.create(systemCaller, { tags: tagsOf("b", count - 40) });
  expect(await come(test, 1, { enrolment_token: token })).toBe(status);
  const { tags } = await agents.get(systemCaller, { node_id });
  expect(Object.keys(tags)).toHaveLength(status === "approved" ? count : 40);
});
