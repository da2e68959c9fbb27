/** Agents as everyone sees them. The same object is given out as long as nothing in it changes. */
import { makeLasting } from "../lasting.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { Attributes } from "../wire/messages.ts";
import type { AgentDocument, AttributesDocument, FindingsDocument } from "./documents.ts";
import type { Findings } from "./findings.ts";
import type { Presence } from "./presence.ts";
import type { Agent } from "./schemas.ts";

type Document = Readonly<AgentDocument>;
type Stored = Pick<StoredDocument<AgentDocument>, "value" | "revision">;

/** An agent as it stands in a list, and what it was made of beside its document. */
interface Listed {
  since: string | null;
  findings: Readonly<FindingsDocument> | null;
  agent: Agent;
}

interface Detail {
  listed: Agent;
  attributes: AttributesDocument | null;
  agent: Agent;
}

const none: Attributes = Object.freeze({});

export class AgentViews {
  readonly #presence: Pick<Presence, "isConnected" | "since">;
  readonly #findings: Pick<Findings, "of">;
  // A document is a new object with each change, and what nobody keeps any more leaves these maps by itself.
  readonly #connected = new WeakMap<Document, Listed>();
  readonly #apart = new WeakMap<Document, Listed>();
  readonly #details = new WeakMap<Document, Detail>();

  constructor(presence: Pick<Presence, "isConnected" | "since">, findings: Pick<Findings, "of">) {
    this.#presence = presence;
    this.#findings = findings;
  }

  /** An agent as it stands in a list. */
  listed({ value: document, revision }: Stored): Agent {
    const { node_id } = document;
    const connected = this.#presence.isConnected(node_id);
    const since = this.#presence.since(node_id);
    const views = connected ? this.#connected : this.#apart;
    const findings = this.#findings.of(node_id);
    const known = views.get(document);
    if (known && known.since === since && known.findings === findings) return known.agent;
    const found = findings ? toFound(findings) : {};
    const agent = makeLasting({
      ...toAgent(document, revision, connected),
      ...(since !== null && { connected_since: since }),
      ...found,
    });
    views.set(document, { since, findings, agent });
    return agent;
  }

  /** An agent as it is read alone. */
  detail(stored: Stored, attributes: AttributesDocument | null): Agent {
    const listed = this.listed(stored);
    const known = this.#details.get(stored.value);
    if (known?.listed === listed && known.attributes === attributes) return known.agent;
    const agent = makeLasting({ ...listed, attributes: attributes?.attributes ?? none });
    this.#details.set(stored.value, { listed, attributes, agent });
    return agent;
  }
}

/** What everyone sees of the findings. */
function toFound({
  last_apply,
  drift,
  failed_drift_check,
  modules,
}: Readonly<FindingsDocument>): Pick<Agent, "last_apply" | "drift" | "failed_drift_check" | "modules"> {
  return {
    ...(last_apply && { last_apply }),
    ...(drift && { drift }),
    ...(failed_drift_check && { failed_drift_check }),
    ...(modules && { modules }),
  };
}

function toAgent(document: Document, version: number, connected: boolean): Agent {
  const { box_public_key: _box, status_when_replaced: _status, in_place_of: _place, ...shown } = document;
  return { ...shown, connected, version };
}
