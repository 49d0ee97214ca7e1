import { describe, expect, it } from 'vitest';
import { linkMender, rewriteHtml } from './tunnel-links.ts';

const mend = linkMender({ prefix: '/p', hosts: ['asked.example', '10.0.0.1:80'] });

describe('a link of a proxied peer', () => {
  it.each([
    ['/x?a=1#f', '/p/x?a=1#f'],
    ['/x/', '/p/x/'],
    ['http://10.0.0.1:80/x', '/p/x'],
    ['//10.0.0.1:80/x', '/p/x'],
    ['https://asked.example/x', 'https://asked.example/p/x'],
    ['/p/x', '/p/x'],
    ['x/y', 'x/y'],
    ['?a=1', '?a=1'],
    ['', ''],
    ['https://else.example/x', 'https://else.example/x'],
    ['mailto:a@b.c', 'mailto:a@b.c'],
    ['data:/x', 'data:/x'],
  ])('%s becomes %s', (link, mended) => {
    expect(mend(link)).toBe(mended);
  });
});

describe('a page of a proxied peer', () => {
  it.each([
    // Recorded from a kube-apiserver.
    [
      '<html><!-- c --><a href="/x">x</a><img src="rel.png"><form action="/f?a=1&b=2"><script>if(a<b)c</script></html>',
      '<html><!-- c --><a href="/p/x">x</a><img src="rel.png"><form action="/p/f?a=1&amp;b=2"><script>if(a<b)c</script></html>',
    ],
    ["<A HREF='/x' Class=\"a'b\">", '<a href="/p/x" class="a&#39;b">'],
    ['<img src=/x alt="1 < 2"/>', '<img src="/p/x" alt="1 &lt; 2"/>'],
    ['<p data-href="/x" href="/x">', '<p data-href="/x" href="/x">'],
    ['<!DOCTYPE html><body>&lt;a href="/x"&gt; 1 < 2', '<!DOCTYPE html><body>&lt;a href="/x"&gt; 1 < 2'],
    [
      '<script src="/s">"<a href=\'/x\'>"</SCRIPT><a href="/y">',
      '<script src="/p/s">"<a href=\'/x\'>"</SCRIPT><a href="/p/y">',
    ],
    ['<!-- <a href="/x"> --><a href="&#47;x&amp;y">', '<!-- <a href="/x"> --><a href="/p/x&amp;y">'],
    ['<input disabled formaction="/x">', '<input disabled="" formaction="/p/x">'],
    ['text <', 'text <'],
    ['<a href="/x', '<a href="/x'],
  ])('%s becomes %s', (html, mended) => {
    expect(rewriteHtml(html, mend)).toBe(mended);
  });

  it('takes no longer than its length asks for', () => {
    const hostile = `${'<a href="'.repeat(20_000)}${'<a b'.repeat(20_000)}${'<!--'.repeat(20_000)}`;
    const start = process.cpuUsage();
    rewriteHtml(hostile, mend);
    expect(process.cpuUsage(start).user / 1000).toBeLessThan(2_000);
  });
});
