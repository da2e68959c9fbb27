/** Agents as everyone sees them. The same object is given out as long as nothing in it changes. */
import type { Attributes } from "../wire/messages.ts";
import { withVersion } from "../document-version.ts";
import { makeLasting } from "../lasting.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { AgentDocument, AttributesDocument } from "./documents.ts";
import type { Agent } from "./schemas.ts";

type Document = Readonly<AgentDocument>;

interface Detail {
  listed: Agent;
  attributes: AttributesDocument | null;
  agent: Agent;
}

const none: Attributes = Object.freeze({});

export class AgentViews {
  readonly #isConnected: (nodeId: string) => boolean;
  // A document is a new object with each change, and what nobody keeps any more leaves these maps by itself.
  readonly #connected = new WeakMap<Document, Agent>();
  readonly #apart = new WeakMap<Document, Agent>();
  readonly #details = new WeakMap<Document, Detail>();

  constructor(isConnected: (nodeId: string) => boolean) {
    this.#isConnected = isConnected;
  }

  /** An agent as it stands in a list. */
  listed(document: Document): Agent {
    const connected = this.#isConnected(document.node_id);
    const views = connected ? this.#connected : this.#apart;
    let view = views.get(document);
    if (view === undefined) views.set(document, (view = makeLasting(toAgent(document, connected))));
    return view;
  }

  /** An agent as it is read alone, with its version. */
  detail({ value, revision }: StoredDocument<AgentDocument>, attributes: AttributesDocument | null): Agent {
    const listed = this.listed(value);
    const known = this.#details.get(value);
    if (known?.listed === listed && known.attributes === attributes) return known.agent;
    const agent = makeLasting({ ...listed, attributes: attributes?.attributes ?? none });
    this.#details.set(value, { listed, attributes, agent: withVersion(agent, revision) });
    return agent;
  }
}

function toAgent(document: Document, connected: boolean): Agent {
  const { box_public_key: _, ...shown } = document;
  return { ...shown, connected };
}
