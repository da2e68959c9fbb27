/** What differs between a package that is wanted and what stands of it. */
import { expect, test } from "vitest";
import { installedState, notInstalled } from "../../../../lib/state/resources/package/provider.ts";
import { findDifferences } from "../../../../lib/state/resources/package/wanted.ts";

const found = (state: object, wanted: object = {}) =>
  findDifferences(
    [{ name: "lib", ensure: "present", ...wanted }],
    [{ ...notInstalled, ...state }],
    ["2.0"],
  ).map(({ work, hold, auto, candidate }) => ({ work, hold, auto, candidate }));

const nothing: unknown[] = [];
const difference = (more: object) => [{ work: null, hold: false, auto: false, candidate: null, ...more }];

// Some package managers say of what is not there that it is there for others, some that it is not, and some nothing.
test.each([
  [{ auto: true }, true, difference({ work: "install", auto: true })],
  [{ auto: false }, true, difference({ work: "install", auto: true })],
  [{}, true, difference({ work: "install", auto: true })],
  [{ auto: false }, false, difference({ work: "install" })],
  [{ auto: true }, undefined, difference({ work: "install" })],
  [{ ...installedState("1.0"), auto: true }, true, nothing],
  [{ ...installedState("1.0"), auto: false }, true, difference({ auto: true })],
  [installedState("1.0"), true, nothing],
  [{ ...installedState("1.0"), auto: true }, false, nothing],
  [{ ...installedState("1.0"), auto: false }, undefined, nothing],
])("of %j, which is to be there for others: %s, what is left to do is told", (state, auto, expected) => {
  expect(found(state, { auto })).toEqual(expected);
});

test.each([
  [notInstalled, { hold: true }, difference({ work: "install", hold: true })],
  [notInstalled, { hold: false }, difference({ work: "install" })],
  [installedState("1.0", true), { hold: true }, nothing],
  [installedState("1.0", true), { hold: false }, difference({ hold: true })],
  [installedState("1.0", true), {}, nothing],
  [installedState("1.0"), { hold: true }, difference({ hold: true })],
  [installedState("1.0"), { hold: false }, nothing],
  [installedState("1.0", true), { ensure: "absent", hold: false }, difference({ work: "remove" })],
  [{ held: true }, { ensure: "absent", hold: false }, nothing],
  [{ leftovers: true }, { ensure: "absent" }, nothing],
  [{ leftovers: true }, { ensure: "purged" }, difference({ work: "remove" })],
  [installedState("1.0"), { ensure: "latest" }, difference({ work: "install", candidate: "2.0" })],
  [installedState("2.0"), { ensure: "latest" }, nothing],
  [installedState("2.0"), { version: "2.0" }, nothing],
  [installedState("2.0.1"), { version: "2.0" }, difference({ work: "install" })],
])("of %j, with %j wanted, what is left to do is told", (state, wanted, expected) => {
  expect(found(state, wanted)).toEqual(expected);
});
