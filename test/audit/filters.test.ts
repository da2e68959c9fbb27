import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { listAuditInput } from "../../lib/audit/schemas.ts";
import { eventTable } from "../../lib/events.ts";

const categories = [...new Set(Object.values(eventTable).map(({ category }) => category))];

describe("filters of the audit log", () => {
  it.each(categories)("take the category %s of the table of events", (category) => {
    expect(listAuditInput.safeParse({ category })).toMatchObject({ success: true });
  });

  it("take no category that no event has", () => {
    expect([...listAuditInput.shape.category.unwrap().options].sort()).toEqual([...categories].sort());
  });

  it("pass the events of a category and no others", async () => {
    await using test = await createTestOrchestrator();
    await test.signIn("Admin", "ada");
    const { audit } = test.orchestrator;
    await audit.setRetention(systemCaller, { retention_days: 5 });
    const typesOf = async (category: (typeof categories)[number]) =>
      (await audit.list(systemCaller, { category })).items.map(({ event_type }) => event_type);
    expect(await typesOf("access")).toEqual(["operator.signedIn", "operator.added"]);
    expect(await typesOf("audit")).toEqual(["audit.retentionChanged"]);
    expect(await typesOf("secret")).toEqual([]);
  });
});
