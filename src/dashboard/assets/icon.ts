/** The icon of the pages: a lock. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
<path d="M5 7V5a3 3 0 0 1 6 0v2" fill="none" stroke="#1a66d6" stroke-width="1.6"/>
<rect x="3" y="7" width="10" height="7" rx="1.5" fill="#1a66d6"/>
</svg>
`;
