/** Events are typed by their names, wherever they are raised or heard: most of these tests say something to `tsc` alone. */
import type { inferTransformedProcedureOutput } from "@trpc/server";
import { describe, expect, expectTypeOf, it } from "vitest";
import type {
  EventListener,
  EventMetadata,
  EventPattern,
  EventStreamItem,
  EventType,
  MatchedType,
  Orchestrator,
  OrchestratorEvent,
} from "fleetwright";
import { eventTable } from "fleetwright";
import type { Client } from "fleetwright/client";
import { createTestOrchestrator } from "fleetwright/testing";
import type { AppRouter } from "fleetwright/trpc";
import type { EventInput } from "../../lib/context.ts";
import { startApprovedAgent } from "../support/fleet.ts";

type ItemOf<Stream> = Stream extends AsyncIterable<infer Item> ? Item : never;

describe("the table of facts", () => {
  it("has each event of the table of events, and no other", () => {
    expectTypeOf<keyof EventMetadata>().toEqualTypeOf<EventType>();
  });

  it("decides what may be raised", () => {
    const events: EventInput[] = [];
    const raise = (event: EventInput): unknown => events.push(event);
    const summary = "It happened";
    const decision = { before: "pending", after: "approved" } as const;
    raise({ summary, type: "agent.approved", metadata: decision });
    raise({ summary, type: "agent.connected" });
    // @ts-expect-error There is no such event.
    raise({ summary, type: "agent.aproved", metadata: decision });
    // @ts-expect-error The facts are missing.
    raise({ summary, type: "agent.approved" });
    // @ts-expect-error One of the facts is missing.
    raise({ summary, type: "agent.approved", metadata: { before: "pending" } });
    // @ts-expect-error There is no such status.
    raise({ summary, type: "agent.approved", metadata: { before: "pending", after: "aproved" } });
    // @ts-expect-error Those are the facts of another event.
    raise({ summary, type: "agent.disconnected", metadata: decision });
    // @ts-expect-error There is no such fact.
    raise({ summary, type: "agent.approved", metadata: { ...decision, by: "ada" } });
    // @ts-expect-error This event has no facts.
    raise({ summary, type: "agent.connected", metadata: { reason: "why not" } });
    expect(events).toHaveLength(9);
  });
});

describe("an event", () => {
  it("is narrowed by its type", () => {
    const tell = (event: OrchestratorEvent): string => {
      if (event.event_type === "agent.disconnected") return event.metadata.reason;
      if (event.event_type === "rollout.finished") return `${event.metadata.counts.failed}`;
      // @ts-expect-error Not every event has a reason.
      return `${event.metadata.reason}`;
    };
    expectTypeOf(tell).toBeFunction();
    expectTypeOf<OrchestratorEvent["event_type"]>().toEqualTypeOf<EventType>();
    expectTypeOf<OrchestratorEvent["metadata"]>().not.toBeAny();
    expectTypeOf<OrchestratorEvent<"module.uploaded">["metadata"]>().toEqualTypeOf<{
      revision: number;
      content_hash: string;
    }>();
  });

  it("is found by type or kind", () => {
    expectTypeOf<MatchedType<"agent.approved">>().toEqualTypeOf<"agent.approved">();
    expectTypeOf<MatchedType<"drift.*" | "audit.pruned">>().toEqualTypeOf<
      | "drift.checkRequested"
      | "drift.detected"
      | "drift.enforced"
      | "drift.enforcementStopped"
      | "drift.resolved"
      | "audit.pruned"
    >();
    expectTypeOf<MatchedType<EventPattern>>().toEqualTypeOf<EventType>();
    expectTypeOf<"nothing.*">().not.toExtend<EventPattern>();
  });

  it("is the same in streams, of the library, of tRPC and of the client", () => {
    type Stream = ItemOf<ReturnType<Orchestrator["events"]["stream"]>>["item"];
    expectTypeOf<Stream>().toEqualTypeOf<EventStreamItem>();
    type Procedure = ItemOf<inferTransformedProcedureOutput<AppRouter, AppRouter["events"]["stream"]>>;
    type Told = Extract<Procedure["data"], { type: "event" }>["event"];
    expectTypeOf<Told["event_type"]>().toEqualTypeOf<EventType>();
    expectTypeOf<Extract<Told, { event_type: "agent.disconnected" }>["metadata"]>().toEqualTypeOf<{
      reason: string;
    }>();
    expectTypeOf<Told["metadata"]>().not.toHaveProperty("reason");
    const watch = async ({ events }: Client): Promise<string> => {
      for await (const item of events.stream({ types: ["agent.disconnected"] }))
        if (item.type === "event") return item.event.metadata.reason;
      for await (const item of events.stream({ node_id: "n" })) {
        if (item.type !== "event") continue;
        expectTypeOf(item.event).toEqualTypeOf<OrchestratorEvent>();
        // @ts-expect-error Not every event has a reason.
        return `${item.event.metadata.reason}`;
      }
      // @ts-expect-error There is no such kind.
      events.stream({ types: ["agents.*"] });
      return "";
    };
    expectTypeOf(watch).toBeFunction();
  });
});

describe("listen", () => {
  it("hears of the events that are wanted, typed by that", async () => {
    await using test = await createTestOrchestrator();
    const heard: string[] = [];
    const end = test.orchestrator.listen(["agent.approved", "module.*"], (event) => {
      expectTypeOf(event.event_type).toEqualTypeOf<"agent.approved" | "module.uploaded" | "module.removed">();
      // @ts-expect-error A module has no status before.
      heard.push(`${event.event_type} ${event.metadata.before}`);
    });
    await using _ = await startApprovedAgent(test);
    end();
    expect(heard).toEqual(["agent.approved pending"]);
    expect(test.events.map(({ event_type }) => event_type)).toContain("agent.enrolled");
  });

  it("takes no listener of other events", () => {
    const listen = ({ orchestrator }: { orchestrator: Orchestrator }) => [
      // @ts-expect-error It would be told of an event that it does not know.
      orchestrator.listen(["agent.*"], (event: OrchestratorEvent<"agent.approved">) => event.metadata.after),
      // @ts-expect-error There is no such event.
      orchestrator.listen(["agent.aproved"], () => {}),
    ];
    expectTypeOf(listen).toBeFunction();
    expectTypeOf<EventListener>().toExtend<EventListener<"agent.approved">>();
  });

  it.each(["agent", "nothing.*", "toString", "agent.connected "])("refuses the type %j", async (type) => {
    await using test = await createTestOrchestrator();
    expect(() => test.orchestrator.listen([type as EventPattern], () => {})).toThrow(
      expect.objectContaining({
        code: "VALIDATION_FAILED",
        issues: [expect.objectContaining({ path: [0] })],
      }),
    );
    expect(Object.keys(eventTable)).not.toContain(type);
  });

  it("refuses what would never hear anything, or fail when it does", async () => {
    await using test = await createTestOrchestrator();
    const { orchestrator } = test;
    const listen = orchestrator.listen.bind(orchestrator) as (...input: unknown[]) => unknown;
    for (const wrong of [[[], () => {}], [["agent.*"]], [[1], () => {}]])
      expect(() => listen(...wrong)).toThrow(expect.objectContaining({ code: "VALIDATION_FAILED" }));
  });
});
