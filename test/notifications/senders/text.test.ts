/** Texts that are cut to what a receiver takes, whatever it counts. */
import { describe, expect, it } from "vitest";
import { fit, jsonSize, utf8Size } from "../../../lib/notifications/senders/text.ts";

const units = (text: string): number => text.length;
const escaped = (character: string): string => (character === "&" ? "&amp;" : character);

describe.each([
  ["UTF-16 units", units],
  ["bytes", utf8Size],
  ["bytes of JSON", jsonSize],
])("a receiver that counts %s", (_name, size) => {
  it.each(["abcdefgh", "äöüäöüäö", "🚒🚒🚒🚒", 'a"b"c"d"', "a&b&c&d&", 'aä🚒"&aä🚒'])(
    "gets as much of %s as it takes",
    (text) => {
      const characters = [...text];
      const whole = characters.map(escaped).join("");
      for (let most = size("…"); most <= size(whole) + 1; most += 1) {
        const cuts = characters.map((_, at) => `${characters.slice(0, at).map(escaped).join("")}…`);
        const longest = size(whole) <= most ? whole : cuts.findLast((cut) => size(cut) <= most);
        expect(fit(text, { most, size, escape: escaped }), `of ${most}`).toBe(longest);
      }
    },
  );
});
