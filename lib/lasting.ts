/** What a verb returns and never changes, so that whoever shows it may keep what it made of it. */

import { deepFreeze } from "./storage/deep-freeze.ts";

const lasting = new WeakSet<object>();

/** Freezes a value and all in it, and says that it is worth remembering: the same object will be returned again. */
export function makeLasting<Value extends object>(value: Value): Value {
  lasting.add(deepFreeze(value));
  return value;
}

/** Whether a value will never change: what was made of it once, such as its text, may be used again for the same object. */
export function isLasting(value: unknown): value is object {
  return typeof value === "object" && value !== null && lasting.has(value);
}
