import type { ReactNode } from "react";

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
      {children}
    </svg>
  );
}

export function Home() {
  return (
    <Icon>
      <path d="M4 11.500 12 4.500l8 7M6.500 9.800V19.500h11V9.800" />
    </Icon>
  );
}

export function Search() {
  return (
    <Icon>
      <circle cx="10.500" cy="10.500" r="6" />
      <path d="m15 15 5 5" />
    </Icon>
  );
}

export function Person() {
  return (
    <Icon>
      <circle cx="12" cy="8" r="3.800" />
      <path d="M4.500 20c.8-4 3.700-6 7.500-6s6.700 2 7.500 6" />
    </Icon>
  );
}

export function Quill() {
  return (
    <Icon>
      <path d="M20 4C11 5 6.500 9.500 6 17.500M6 17.500 4.500 20M6 17.500c6 .5 10-2 11-6.500h-4M20 4c.3 2.800-.8 5-3 7" />
    </Icon>
  );
}
