import { expect, it } from "vitest";
import { procedure, requirePermissions, route, t } from "../../../adapters/trpc/procedures/builder.ts";

const described = { tag: "Status", summary: "Say hello", description: "Hello." };
const get = procedure.meta(route("status.get", "GET /status", described)).query(() => "hello");

it("a router is refused in which a procedure has no permission, or that of another", () => {
  expect(requirePermissions(t.router({ status: t.router({ get }) }))).toHaveProperty("_def");
  for (const [name, router] of [
    ["status.other", t.router({ status: t.router({ get, other: get }) })],
    ["status.hello", t.router({ status: t.router({ get, hello: procedure.query(() => "hello") }) })],
    ["toString", t.router({ toString: procedure.meta({ permission: "toString" }).query(() => "hello") })],
  ] as const)
    expect(() => requirePermissions(router), name).toThrow(`The procedure ${name} has no permission`);
});
