/** What an orchestrator shows of itself, by name. */
import { expect } from "vitest";

/** Every feature that is reached from an orchestrator, those in features included. */
export function featuresOf(owner: object, path = ""): [path: string, feature: object][] {
  return Object.entries(owner).flatMap(([name, feature]) => {
    expect(feature, `${path}${name} is no feature`).toBeTypeOf("object");
    const own: [string, object] = [`${path}${name}`, feature as object];
    return [own, ...featuresOf(feature as object, `${path}${name}.`)];
  });
}

/** The names of a feature's verbs. */
export function verbsOf(feature: object): string[] {
  const prototype = Object.getPrototypeOf(feature) as object;
  const members = Object.entries(Object.getOwnPropertyDescriptors(prototype));
  for (const [name, { get }] of members) expect(get, `${name} is a getter`).toBeUndefined();
  return members.map(([name]) => name).filter((name) => name !== "constructor");
}
