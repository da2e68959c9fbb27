import { describe, expect, it } from "vitest";
import { ProgressFeeds, type ProgressStep } from "../../lib/operations/progress-feeds.ts";

const mib = 1_048_576;
const signal = new AbortController().signal;

/** Output of about this many bytes. */
const printed = (bytes: number): ProgressStep => ({
  type: "output",
  output: [
    { module: "web", resource_id: "say", stream: "stdout", text: "x".repeat(bytes), truncated: false },
  ],
});

describe("what running operations tell", () => {
  it("counts whole, whatever part of it an agent makes large", () => {
    const feeds = new ProgressFeeds();
    const resource = {
      resource_id: "a",
      module: "web",
      type: "file",
      identity: "/a",
      outcome: "changed" as const,
      action: "update" as const,
      changes: [{ property: "content", before: "x".repeat(900_000), after: null }],
      caused_by: [],
      attempts: 1,
      duration_ms: 1,
    };
    for (let count = 0; count < 5; count += 1)
      feeds.push("one", { type: "resources", resources: [resource] });
    expect(feeds.of("one").bytes).toBeLessThan(mib);
  });

  it("is not kept where one message is larger than all of it may be", () => {
    const feeds = new ProgressFeeds();
    feeds.push("one", printed(2 * mib));
    expect(feeds.of("one").bytes).toBe(0);
  });

  it("is given up for want of space only where nobody reads, also nobody who is busy with what came", async () => {
    const feeds = new ProgressFeeds();
    feeds.push("slow", printed(10));
    const reader = feeds.of("slow").read({ after: "start", signal });
    await reader.next();
    const unread = feeds.of("unread");
    feeds.push("unread", printed(10));
    for (let count = 0; count < 40; count += 1) feeds.push(`other-${count}`, printed(900_000));
    expect(feeds.of("unread")).not.toBe(unread);
    feeds.push("slow", printed(11));
    feeds.end("slow");
    const kinds = [await reader.next(), await reader.next(), await reader.next()].map(
      ({ done, value }) => done === true || value?.kind,
    );
    expect(kinds).toEqual(["value", "value", true]);
  });

  it.each([
    ["ended", (feeds: ProgressFeeds, operationId: string) => feeds.end(operationId)],
    ["been given up for want of space", () => {}],
  ])("takes up space no longer once it has %s", (_, done) => {
    const feeds = new ProgressFeeds();
    for (let count = 0; count < 80; count += 1) {
      feeds.push(`over-${count}`, printed(900_000));
      done(feeds, `over-${count}`);
    }
    const kept = Array.from({ length: 30 }, (__, count) => `kept-${count}`);
    const given = kept.map((operationId) => {
      feeds.push(operationId, printed(900_000));
      return feeds.of(operationId);
    });
    expect(kept.map((operationId) => feeds.of(operationId))).toEqual(given);
    expect(given.map(({ bytes }) => bytes > 900_000)).toEqual(Array(30).fill(true));
  });

  it("ends for whoever was about to read when it was given up, so that they look again", async () => {
    const feeds = new ProgressFeeds();
    feeds.push("late", printed(10));
    const reader = feeds.of("late").read({ after: "start", signal });
    for (let count = 0; count < 40; count += 1) feeds.push(`other-${count}`, printed(900_000));
    const kinds: unknown[] = [];
    for await (const step of reader) kinds.push(step.kind);
    expect(kinds).toEqual(["position", "value"]);
  });
});
