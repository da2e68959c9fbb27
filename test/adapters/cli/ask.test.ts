import { expect, test } from "vitest";
import { confirm, firstLines } from "../../../adapters/cli/ask.ts";
import { Declined } from "../../../adapters/cli/failure.ts";

const about = { told: [], question: "Remove it?", otherwise: "Nothing was changed." };

test.each(["y", "Y", "yes", "YES", " yes ", "y\r"])("%j is a yes", async (typed) => {
  await expect(confirm(() => Promise.resolve(typed), about)).resolves.toBeUndefined();
});

test.each(["", " ", "n", "no", "yeah", "ye", "yess", "ok", "y n", "ny", "1", "true", null])(
  "%j is none",
  async (typed) => {
    const asked = confirm(() => Promise.resolve(typed), about);
    await expect(asked).rejects.toEqual(new Declined("Nothing was changed."));
  },
);

test.each([0, 1, 19, 20, 21, 22, 100])(
  "of a list of %i, twenty stand above a question at most, with how many there are beside them",
  (count) => {
    const lines = Array.from({ length: count }, (_, at) => `  web-${at}`);
    const rest = count > 20 ? [`  and ${count - 20} more`] : [];
    expect(firstLines(lines)).toEqual([...lines.slice(0, 20), ...rest]);
  },
);
