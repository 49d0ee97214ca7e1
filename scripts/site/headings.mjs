// Anchors of headings, the same on the site as where the Markdown files are shown by themselves. Used by links.mjs and by the site's configuration.

/** Returns the anchor of a heading's text, as GitHub makes it. */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns Markdown without its blocks of code, in which nothing is a link or a heading. */
export const withoutCode = (markdown) => markdown.replace(/```[\s\S]*?```/g, '');

/** Returns the anchors of a page, by its Markdown. */
export function anchorsIn(markdown) {
  return [...withoutCode(markdown).matchAll(/^#+ +(.*)$/gm)].map((match) => anchorOf(match[1]));
}
