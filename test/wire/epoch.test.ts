/** Version 2: both sides tell the epoch. Version 1 is as it was, byte for byte: see golden.test.ts. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toHex } from "../../lib/crypto/encoding.ts";
import { createAgentHandshake } from "../../lib/wire/agent-handshake.ts";
import { compareEpochs, nextNumber, type Epoch } from "../../lib/wire/epoch.ts";
import { createOrchestratorHandshake } from "../../lib/wire/orchestrator-handshake.ts";
import { agentOptions, codeOf, establish, orchestratorOptions, orchestratorTime } from "./support/peers.ts";

const seen: Epoch = { number: 1_893_456_000_000, id: "01b8dac6-40a0-702e-8d87-5a4bc0a7eb6f" };
const own: Epoch = { number: 1_893_456_000_001, id: "01b8dac6-40a0-7432-8e33-ef18f45fc15c" };

/** A handshake up to the end: what each side heard of the epoch of the other, and which version they agreed on. */
function meet(agentKnows: boolean | "none seen", orchestratorKnows: boolean) {
  const followedEpoch = { followedEpoch: () => (agentKnows === "none seen" ? null : seen) };
  const agent = createAgentHandshake(agentOptions(agentKnows === false ? {} : followedEpoch));
  const orchestrator = createOrchestratorHandshake(
    orchestratorOptions(orchestratorKnows ? { epoch: own } : {}),
  );
  const welcome = orchestrator.receive(agent.hello());
  if (welcome.kind !== "send") throw new Error("no welcome");
  const prove = agent.receive(welcome.frame);
  if (prove.kind !== "send") throw new Error("no proof");
  const proved = orchestrator.receive(prove.frame);
  if (proved.kind !== "proved") throw new Error("not proved");
  const accepted = agent.receive(orchestrator.accept("approved", orchestratorTime).frame);
  if (accepted.kind !== "accepted") throw new Error("not accepted");
  const { version } = JSON.parse(welcome.frame) as { version: number };
  return { version, toldAgent: accepted.epoch, toldOrchestrator: proved.agent.epoch };
}

describe("the epoch in the handshake", () => {
  test.each([
    ["both know epochs", true, true, { version: 2, toldAgent: own, toldOrchestrator: seen }],
    [
      "the agent has seen none",
      "none seen",
      true,
      { version: 2, toldAgent: own, toldOrchestrator: undefined },
    ],
    [
      "the agent is of an earlier version",
      false,
      true,
      { version: 1, toldAgent: null, toldOrchestrator: undefined },
    ],
    [
      "the orchestrator is of an earlier version",
      true,
      false,
      { version: 1, toldAgent: null, toldOrchestrator: undefined },
    ],
    ["both are", false, false, { version: 1, toldAgent: null, toldOrchestrator: undefined }],
  ] as const)("is told where %s", (_, agentKnows, orchestratorKnows, told) => {
    expect(meet(agentKnows, orchestratorKnows)).toEqual(told);
  });

  test("of version 2 is what it was when it was first written", () => {
    const { frames } = establish({ agent: { followedEpoch: () => seen }, orchestrator: { epoch: own } });
    const made = Object.fromEntries(
      Object.entries(frames).map(([name, frame]) => [name, typeof frame === "string" ? frame : toHex(frame)]),
    );
    const path = new URL("./golden/v2/handshake.json", import.meta.url);
    if (!existsSync(path) && process.env["FLEETWRIGHT_WRITE_GOLDEN"] === "1")
      writeFileSync(path, `${JSON.stringify(made, null, 2)}\n`);
    expect(made).toEqual(JSON.parse(readFileSync(path, "utf8")));
  });

  test.each([
    ["a number below 1", { ...seen, number: 0 }],
    ["a fraction", { ...seen, number: 1.5 }],
    ["a number that no date reaches", { ...seen, number: 8_640_000_000_000_001 }],
    ["no id", { number: 1 }],
    ["a field that is not known", { ...seen, more: 1 }],
  ])("is refused with %s", (_, epoch) => {
    const agent = createAgentHandshake(agentOptions({ followedEpoch: () => epoch as Epoch }));
    const orchestrator = createOrchestratorHandshake(orchestratorOptions({ epoch: own }));
    const welcome = orchestrator.receive(agent.hello());
    const prove = welcome.kind === "send" ? agent.receive(welcome.frame) : null;
    expect(codeOf(() => orchestrator.receive(prove?.kind === "send" ? prove.frame : ""))).toBe(
      "PROTOCOL_ERROR",
    );
  });

  test("can't be brought down to version 1 by whoever is between", () => {
    const agent = createAgentHandshake(agentOptions({ followedEpoch: () => seen }));
    const orchestrator = createOrchestratorHandshake(orchestratorOptions({ epoch: own }));
    const hello = JSON.stringify({ ...(JSON.parse(agent.hello()) as object), versions: [1] });
    const welcome = orchestrator.receive(hello);
    expect(codeOf(() => agent.receive(welcome.kind === "send" ? welcome.frame : ""))).toBe(
      "SIGNATURE_INVALID",
    );
  });
});

describe("the order of epochs", () => {
  const epochs = fc.record({ number: fc.integer({ min: 1, max: 3 }), id: fc.constantFrom("a", "b", "c") });
  test("is one for all: every two are apart or the same, and it has no circles", () => {
    fc.assert(
      fc.property(epochs, epochs, epochs, (a, b, c) => {
        expect(Math.sign(compareEpochs(a, b))).toBe(-Math.sign(compareEpochs(b, a)) + 0);
        expect(compareEpochs(a, b) === 0).toBe(a.number === b.number && a.id === b.id);
        if (compareEpochs(a, b) > 0 && compareEpochs(b, c) > 0)
          expect(compareEpochs(a, c)).toBeGreaterThan(0);
      }),
    );
  });

  test.each([
    ["the clock, where that is ahead", 1_000, 5, 1_000],
    ["one more, where the clock was set back", 1_000, 5_000, 5_001],
    ["whole", 1_000.7, 0, 1_000],
    ["1 at least", -5, 0, 1],
    ["what a date can name", 9e15, 0, 8_640_000_000_000_000],
  ])("goes on with %s", (_, now, after, number) => {
    expect(nextNumber(now, after)).toBe(number);
  });
});
