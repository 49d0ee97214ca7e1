// Handles a watch of a collection or, by the old path /watch/…, of one object. Source: apiserver handlers/get.go,
// watch.go.
import { isExpired } from '@kapstan/api';
import { methodNotSupported } from '@kapstan/api/errors';
import { nextTurn } from '@kapstan/api/internal';
import { parseIncludeObject, whenTableIsReady } from '../answer/table-response.ts';
import { parseListOptions, watchRequestOf } from '../exchange/list-options.ts';
import { negotiateStreamOutput, type OutputForm } from '../exchange/negotiation.ts';
import { selectedScopeOf } from '../exchange/request-labels.ts';
import { outputRequestOf } from '../exchange/status-response.ts';
import { traceWatch } from '../request/request-trace.ts';
import { WatchFrames } from '../watch/watch-frames.ts';
import { observeInitialTime } from '../watch/watch-registry.ts';
import { WatchResponse } from '../watch/watch-response.ts';
import { openWebSocket } from '../watch/websocket-watch.ts';
import { contextOf, type ResourceCall } from './resource-call.ts';

/** Time for the peer to take the queued bytes at the end of its watch; then the connection is cut. */
const lingerMs = 10_000;

/** Resolves when the stream is over. Throws while a plain answer is still possible. */
export async function handleWatch(call: ResourceCall): Promise<void> {
  const { exchange, served, ports, name } = call;
  const { definition } = served;
  const form = negotiateStreamOutput(outputRequestOf(exchange), definition.isCustom === true);
  const options = parseListOptions(exchange.query, { isWatch: true, ...(name === '' ? {} : { name }) });
  if (!definition.verbs.includes('watch')) throw methodNotSupported(definition, 'watch');
  const includeObject = form.target?.kind === 'Table' ? parseIncludeObject(exchange.query) : 'None';
  const preparing = whenTableIsReady(definition.table, form.target);
  if (preparing !== undefined) await preparing;
  const timeoutMs = watchTimeoutMs(call, options.timeoutSeconds);
  const sendsInitialEvents = options.sendInitialEvents === true;
  const spans = traceWatch(exchange, call.info, sendsInitialEvents && options.allowWatchBookmarks);
  const counts = ports.watches.countsOf(definition);
  const startMs = ports.clock.monotonicNow();
  let over: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    over = resolve;
  });
  const response = new WatchResponse({
    of: definition,
    frames: new WatchFrames({ definition, form, includeObject, clock: ports.clock }),
    initialSlices: ports.initialSlices,
    allowBookmarks: options.allowWatchBookmarks,
    maxBufferedBytes: ports.maxWatchBufferBytes,
    budget: ports.watchBudget,
    userName: call.user.name,
    flusher: ports.flusher,
    clock: ports.clock,
    sizes: counts.sizes,
    onInitialEventsSent: () => {
      call.place.leave();
      spans?.initialEventsSent();
      const scope = selectedScopeOf(call.info, options.select.fieldSelector);
      observeInitialTime(counts, scope, ports.clock.monotonicNow() - startMs);
    },
    onOverflow: (reason) => ports.watches.countOverflow(definition, reason),
    onEnding: () => {
      // The client has gone, and "close", which would stop the timer, may have been emitted already.
      if (exchange.signal.aborted) return;
      exchange.onClose(ports.clock.setBackgroundTimer(() => response.abort(), lingerMs));
    },
    onEnd: () => over(),
  });
  const request = watchRequestOf(options, ports.clock.monotonicNow() + timeoutMs);
  // The server needs the bookmark that ends the initial events even if the client wants none.
  const asked = { ...request, marksInitialEventsEnd: sendsInitialEvents };
  const watch = served.store.watch(contextOf(call), asked, response);
  const limit = limitTime(call, response, timeoutMs);
  try {
    // If the time is over from the start, the store gets one turn in which it can refuse the watch.
    if (timeoutMs < 0) await nextTurn();
    refuseEarly(response);
    const isOver = timeoutMs < 0 && response.earlyError === undefined;
    // A client that has the head may write at once, and must get that write as a change.
    if (!isOver) await Promise.race([watch.begun, limit.reached]);
    exchange.setHeader('Content-Type', streamMediaType(form));
    spans?.open(streamMediaType(form));
    const stream = exchange.isUpgrade ? openWebSocket(exchange, contentOf(form)) : exchange.open(200);
    if (stream === undefined) return;
    response.open(stream);
    if (isOver) return response.close();
    if (!sendsInitialEvents) {
      response.endInitialEvents();
      call.place.leave();
    }
    await runUntilEnd(call, response, ended);
  } finally {
    limit.lift();
    watch.close();
    spans?.end();
  }
}

/** An immediate refusal by the store becomes a plain answer. A version that is too old becomes an event. */
function refuseEarly(response: WatchResponse): void {
  const error = response.earlyError;
  if (error !== undefined && !isExpired(error)) throw error;
}

interface TimeLimit {
  /** Resolves when the time is over or the client has gone. */
  readonly reached: Promise<void>;
  lift(): void;
}

/**
 * Ends the watch when its time, counted from the request, is over, or its client has gone; also before it has begun.
 */
function limitTime({ ports, exchange }: ResourceCall, response: WatchResponse, timeoutMs: number): TimeLimit {
  let reach: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const finish = (): void => {
    response.finish();
    reach();
  };
  const close = (): void => {
    response.close();
    reach();
  };
  const cancelTimer = timeoutMs < 0 ? () => undefined : ports.clock.setBackgroundTimer(finish, timeoutMs);
  exchange.signal.addEventListener('abort', close, { once: true });
  const lift = (): void => {
    cancelTimer();
    exchange.signal.removeEventListener('abort', close);
  };
  return { reached, lift };
}

async function runUntilEnd(
  { ports, exchange }: ResourceCall,
  response: WatchResponse,
  ended: Promise<void>,
): Promise<void> {
  ports.watches.add(response);
  if (exchange.signal.aborted) response.close();
  await ended;
  ports.watches.remove(response);
}

/** Returns milliseconds; negative when the client requested a negative time. */
function watchTimeoutMs(call: ResourceCall, seconds: number): number {
  if (seconds !== 0) return seconds * 1000;
  return call.ports.minWatchMs * (1 + call.ports.random());
}

function contentOf({ format }: OutputForm): 'text' | 'binary' {
  return format.name === 'protobuf' ? 'binary' : 'text';
}

/** Streams of JSON carry the plain type. Source: handlers.serveWatchHandler. */
function streamMediaType({ format }: OutputForm): string {
  return format.name === 'protobuf' ? `${format.mediaType};stream=watch` : format.mediaType;
}
