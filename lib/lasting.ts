/** What a verb returns and never changes, so that whoever shows it may keep what it made of it. */

import { deepFreeze } from "./storage/deep-freeze.ts";

/** Not enumerable: a copy may be changed, and is not marked. */
const mark = Symbol("lasting");

/** Freezes a value and all in it, and says that it is worth remembering: the same object will be returned again. */
export function makeLasting<Value extends object>(value: Value): Value {
  return deepFreeze(Object.defineProperty(value, mark, { value: true }));
}

/** Whether a value will never change: what was made of it once, such as its text, may be used again for the same object. */
export function isLasting(value: unknown): value is object {
  return typeof value === "object" && value !== null && mark in value;
}
