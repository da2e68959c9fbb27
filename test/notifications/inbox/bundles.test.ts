/** What is put together tells of each agent in order, so that the last that is told of it is how it stands. */
import { expect, test } from "vitest";
import type { OrchestratorEvent } from "../../../lib/events.ts";
import { narrowed, toBundles } from "../../../lib/notifications/inbox/bundles.ts";

/** Such as "-ab": agents a and b went; "+a": a is back. */
function eventOf(step: string, at: number): OrchestratorEvent {
  const node_ids = step.slice(1).split("");
  const timestamp = "2030-01-01T00:00:00.000Z";
  const about = {
    id: String(at),
    timestamp,
    severity: "warning",
    actor: { type: "system", id: "system", name: "system" },
    summary: step,
  } as const;
  const metadata = { agents: node_ids.length, node_ids };
  return step.startsWith("-")
    ? { ...about, event_type: "agent.offline", metadata: { ...metadata, since: timestamp } }
    : { ...about, event_type: "agent.online", metadata };
}

test.each([
  ["-a -b -c", ["-abc"]],
  ["-a -a -a", ["-a"]],
  ["-a -a +a +a", ["-a", "+a"]],
  ["-a +a -a", ["-a", "+a", "-a"]],
  ["-a +a -b", ["-ab", "+a"]],
  ["-a +a -b +b", ["-ab", "+ab"]],
  ["-a -b +a -a -b", ["-ab", "+a", "-ab"]],
  ["-ab +b -bc +ab", ["-ab", "+b", "-bc", "+ab"]],
  ["-a +a -ab -c +a", ["-a", "+a", "-abc", "+a"]],
])("%s is told as %j", (steps, expected) => {
  const facts = { nameOf: (id: string) => id, isMuted: () => false };
  const bundles = toBundles(steps.split(" ").map(eventOf), facts);
  const told = bundles.map(({ event_type, agents }) => {
    return (event_type === "agent.offline" ? "-" : "+") + agents.map(({ id }) => id).join("");
  });
  expect(told).toEqual(expected);
});

test("what a window mutes is in order by itself, and counted beside what it does not", () => {
  const facts = { nameOf: (id: string) => id, isMuted: (id: string) => id === "a" };
  const bundles = toBundles(["-ab", "+ab", "-ab"].map(eventOf), facts);
  expect(
    bundles.map(({ muted, agents, count }) => [muted, agents.map(({ id }) => id).join(""), count]),
  ).toEqual([
    [false, "b", 1],
    [true, "a", 1],
    [false, "b", 1],
    [true, "a", 1],
    [false, "b", 1],
    [true, "a", 1],
  ]);
});

test.each([
  ["a", 3],
  ["b", 1],
  ["ab", 4],
  ["c", 2],
  ["abc", 6],
])("for %s alone each of their events is counted, however often it was", (names, count) => {
  const facts = { nameOf: (id: string) => id, isMuted: () => false };
  const [bundle] = toBundles(["-ab", "-a", "-ac", "-c"].map(eventOf), facts);
  const found = narrowed(bundle!, (id) => names.includes(id))!;
  expect([found.agents.map(({ id }) => id).join(""), found.count]).toEqual([names, count]);
});
