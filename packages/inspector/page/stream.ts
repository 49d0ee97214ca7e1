// Talks to the process: documents by fetch, the live stream too, because an EventSource could not send the token.
import type { Overview, Sections } from '../src/overview.ts';

const base = `${location.pathname.replace(/\/inspect(?:\/.*)?$/, '')}/inspect/v1`;
const retryMs = 2000;

/**
 * Returns the token of the printed address, keeps it for reloads of this tab, and takes it out of the address at once.
 */
function takeToken(): string | undefined {
  const given = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (given === undefined) return sessionStorage.getItem('kapstan-inspector') ?? undefined;
  sessionStorage.setItem('kapstan-inspector', given);
  history.replaceState(null, '', location.pathname);
  return given;
}

const token = takeToken();

async function request(path: string): Promise<Response> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(`${base}/${path}`, { headers, cache: 'no-store' });
  if (response.ok) return response;
  throw new Error(`${response.status}: ${(await response.text()).trim()}`);
}

/** Returns a document. */
export async function read<T>(path: string): Promise<T> {
  return (await (await request(path)).json()) as T;
}

export interface StreamSink {
  onOverview(overview: Overview): void;
  onChange(change: { readonly at: number; readonly sections: Sections }): void;
  onStatus(text: string, isLive: boolean): void;
}

/** Follows the process forever. */
export async function follow(sink: StreamSink): Promise<never> {
  for (;;) {
    try {
      const { body } = await request('live');
      if (body === null) throw new Error('the answer has no body');
      sink.onStatus('Live.', true);
      await readEvents(body, sink);
      throw new Error('the stream has ended');
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      sink.onStatus(`Not connected (${text}). Trying again every ${retryMs / 1000} s.`, false);
    }
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

async function readEvents(body: ReadableStream<Uint8Array>, sink: StreamSink): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let parts: string[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    // A large event arrives in many pieces, and only the last one can end it.
    const events = decoder.decode(value, { stream: true }).split('\n\n');
    for (const end of events.slice(0, -1)) {
      take([...parts, end].join(''), sink);
      parts = [];
    }
    parts.push(events.at(-1) ?? '');
  }
}

function take(event: string, sink: StreamSink): void {
  const [type = '', data = ''] = event.split('\ndata: ');
  if (type === 'event: overview') sink.onOverview(JSON.parse(data));
  if (type === 'event: change') sink.onChange(JSON.parse(data));
}
