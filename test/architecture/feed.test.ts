/** Who hears of what: one feed, one presence. */
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { sourceFiles, type SourceFile } from "./source-tree.ts";

const library = sourceFiles("lib").filter(({ path }) => !path.startsWith("lib/testing/"));

/** The places of calls of a method, `file: receiver`. */
function callsOf(method: string, files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, syntax }) => {
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      if (
        ts.isCallExpression(node) &&
        ts.isPropertyAccessExpression(node.expression) &&
        node.expression.name.text === method
      )
        found.push(`${path}: ${node.expression.expression.getText(syntax)}`);
      ts.forEachChild(node, visit);
    };
    visit(syntax);
    return found;
  });
}

describe("who is connected", () => {
  it("is asked of the transport by presence alone", () => {
    const asked = callsOf("isConnected", library).filter((place) => /transport/i.test(place.split(": ")[1]!));
    expect(asked).toEqual(["lib/agents/presence.ts: this.#context.transport"]);
  });
});

describe("what was committed", () => {
  it("is told by the feed alone: nobody else follows the storage", () => {
    const followers = callsOf("follow", library).filter((place) => /storage/i.test(place.split(": ")[1]!));
    expect(followers).toEqual(["lib/feed/feed.ts: this.#storage"]);
  });

  it("reaches listeners of events through the feed", () => {
    const listening = [...callsOf("listen", library), ...callsOf("listenToRecords", library)]
      .filter((place) => !/socket/i.test(place))
      .filter((place) => !place.startsWith("lib/feed/"));
    expect(listening.filter((place) => !/: (this\.#context\.)?feed$/.test(place))).toEqual([]);
    expect(listening.length).toBeGreaterThan(3);
  });
});
