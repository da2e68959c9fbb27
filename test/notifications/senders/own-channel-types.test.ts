/** What a program hears that gives types of channels of its own which are none. */
import { expect, it } from "vitest";
import { z } from "zod";
import { channelTypesRule } from "../../../lib/notifications/senders/own-channel-types.ts";

const type = { config: z.strictObject({}), secretFields: [], send: () => Promise.resolve() };
const named = "must have a name of a-z, 0-9, '_' and '-'";
const taken = "has the name of a type that ships with the package";
const needed = (...fields: string[]) =>
  fields.map((field) => ({ path: ["pager", field], message: "must be there" }));

it.each<[string, unknown, { path: string[]; message: string }[]]>([
  ["one that has all", { pager: type }, []],
  ["none", {}, []],
  ["names up to their length", { a: type, [`a${"_".repeat(63)}`]: type, "a-9_z": type }, []],
  [
    "a name that is too long",
    { [`a${"b".repeat(64)}`]: type },
    [{ path: [`a${"b".repeat(64)}`], message: named }],
  ],
  ["a name in capitals", { Pager: type }, [{ path: ["Pager"], message: named }]],
  ["a name that begins with a digit", { "1pager": type }, [{ path: ["1pager"], message: named }]],
  ["a name with a space at its end", { "pager ": type }, [{ path: ["pager "], message: named }]],
  ["the name of one that ships", { webhook: type }, [{ path: ["webhook"], message: taken }]],
  ["one without a config", { pager: { ...type, config: undefined } }, needed("config")],
  ["one whose config is no schema", { pager: { ...type, config: {} } }, needed("config")],
  [
    "one whose secret fields are no list",
    { pager: { ...type, secretFields: "key" } },
    needed("secretFields"),
  ],
  ["one that can't send", { pager: { ...type, send: "mail" } }, needed("send")],
  ["nothing by a name", { pager: null }, needed("config", "secretFields", "send")],
  ["a list", [type], [{ path: [], message: "must be an object of your own types by their names" }]],
  ["null", null, [{ path: [], message: "must be an object of your own types by their names" }]],
  ["a text", "pager", [{ path: [], message: "must be an object of your own types by their names" }]],
])("of %s", (_what, own, issues) => {
  expect(channelTypesRule.faultsOf(own)).toEqual(issues);
});
