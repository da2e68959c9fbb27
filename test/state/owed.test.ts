/** What is owed to resources that watch others: the strongest trigger, for as long as there is a cause. */
import { describe, expect, it } from "vitest";
import { OwedTriggers, type Watcher } from "../../lib/state/owed.ts";
import { resourceResultSchema } from "../../lib/state/result.ts";
import { triggers } from "../../lib/state/triggers.ts";

const service: Watcher = {
  thing: "service:web",
  module: "web",
  resource_id: "web",
  type: "service",
  identity: "web",
};
const first = "0197a5b4-6d1e-7c3a-9f00-000000000001";
const second = "0197a5b4-6d1e-7c3a-9f00-000000000002";

describe("what is owed", () => {
  it.each(triggers.flatMap((one) => triggers.map((other) => [one, other] as const)))(
    "is the stronger of %s and %s, from the first operation on",
    (one, other) => {
      const owed = new OwedTriggers([]);
      expect(owed.incur(service, { key: "web/a", trigger: one, operationId: first })).toBe(true);
      expect(owed.incur(service, { key: "web/b", trigger: other, operationId: second })).toBe(true);
      const stronger = triggers[Math.max(triggers.indexOf(one), triggers.indexOf(other))];
      expect(owed.of(service.thing)).toMatchObject({
        trigger: stronger,
        causes: ["web/a", "web/b"],
        operation_id: first,
      });
    },
  );

  it("is no cause twice, and grows stronger by the same cause all the same", () => {
    const owed = new OwedTriggers([]);
    owed.incur(service, { key: "web/a", trigger: "reload", operationId: first });
    expect(owed.incur(service, { key: "web/a", trigger: "restart", operationId: second })).toBe(false);
    expect(owed.of(service.thing)).toMatchObject({ trigger: "restart", causes: ["web/a"] });
  });

  it("is nothing any more once the last cause is withdrawn, and not before", () => {
    const owed = new OwedTriggers([]);
    for (const key of ["web/a", "web/b"]) owed.incur(service, { key, trigger: "reload", operationId: first });
    owed.withdraw(service.thing, "web/a");
    owed.withdraw(service.thing, "web/never");
    expect(owed.of(service.thing)).toMatchObject({ causes: ["web/b"] });
    owed.withdraw(service.thing, "web/b");
    expect([owed.of(service.thing), owed.all()]).toEqual([undefined, []]);
  });

  it("is taken up again as it was left, what was owed first at the head", () => {
    const owed = new OwedTriggers([]);
    const other: Watcher = { ...service, thing: "service:db", identity: "db" };
    owed.incur(other, { key: "web/a", trigger: "reload", operationId: first });
    owed.incur(service, { key: "web/a", trigger: "restart", operationId: first });
    owed.incur(other, { key: "web/b", trigger: "reload", operationId: second });
    const again = new OwedTriggers(owed.all());
    expect(again.all()).toEqual(owed.all());
    expect(again.all().map(({ thing }) => thing)).toEqual(["service:db", "service:web"]);
    again.settle("service:db");
    expect(again.all().map(({ thing }) => thing)).toEqual(["service:web"]);
    expect(owed.all()).toHaveLength(2);
  });

  it("lists as many causes as a result may, and grows stronger by one more", () => {
    const owed = new OwedTriggers([]);
    const by = (at: number) => ({ key: `web/${at}`, trigger: "reload" as const, operationId: first });
    for (let at = 0; at < 1999; at += 1) owed.incur(service, by(at));
    expect(owed.incur(service, by(1999))).toBe(true);
    expect(owed.incur(service, { ...by(2000), trigger: "restart" })).toBe(false);
    const { trigger, causes = [] } = owed.of(service.thing) ?? {};
    expect([trigger, causes.length, causes.at(-1)]).toEqual(["restart", 2000, "web/1999"]);
    expect(resourceResultSchema.shape.caused_by.safeParse(causes).success).toBe(true);
  });
});
