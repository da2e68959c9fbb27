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

/** Ways in which one part of the orchestrator asks another to be called, `name: why that is no listener beside the feed`. */
const registrations: Readonly<Record<string, string>> = {
  onStatus: "the registry of agents follows the feed and says what became of a status",
  onResume: "epochs follow the feed and say that what was held goes on",
  onEnd: "a part of the commit that ends an operation, or what comes after it once the end is on disk",
  onSettled: "a part of the commit that ends an operation or corrects it",
  onCorrection: "a part of the commit that ends an operation",
  onReference: "asked before a content is removed",
  onExpiry: "asked before an operation is removed",
  onRollout: "asked before an operation is removed",
  onCommit: "measures how long commits took; is not told what they say",
  onRefusal: "hears that a commit was refused, of which the feed has nothing",
};

describe("who is connected", () => {
  it("is asked of the transport by presence alone", () => {
    const asked = callsOf("isConnected", library).filter((place) => /transport/i.test(place.split(": ")[1]!));
    expect(asked).toEqual(["lib/agents/presence.ts: this.#context.transport"]);
  });

  it("is asked of nothing but presence by features, under whatever name they have it", () => {
    const asked = callsOf("isConnected", library).filter(
      (place) => !place.startsWith("lib/agents/presence.ts") && !place.startsWith("lib/transport/"),
    );
    expect(asked.filter((place) => !/(: this|[pP]resence)$/.test(place))).toEqual([]);
    expect(asked.length).toBeGreaterThan(10);
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

  it("is heard of in no other way: whoever asks to be called is in the table", () => {
    const features = library.filter(
      ({ path }) => !/^lib\/(agent|host|native|state|cluster|transport|storage)\//.test(path),
    );
    const names = features.flatMap(({ syntax }) => {
      const found: string[] = [];
      const visit = (node: ts.Node): void => {
        const called = ts.isCallExpression(node) ? node.expression : undefined;
        if (called && ts.isPropertyAccessExpression(called) && /^on[A-Z]/.test(called.name.text))
          found.push(called.name.text);
        ts.forEachChild(node, visit);
      };
      visit(syntax);
      return found;
    });
    expect([...new Set(names)].toSorted()).toEqual(Object.keys(registrations).toSorted());
  });
});
