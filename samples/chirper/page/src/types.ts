// Made from the server's views and commands. Do not edit.
import type {} from "@evergreen/client";

export interface Chirp {
  author: string;
  at: string;
  text: string;
}

export interface Marked {
  name: string;
  followed: boolean;
}

export interface Named {
  name: string;
}

export interface PageChirp {
  items: Chirp[];
  next: string | null;
}

export interface PageMarked {
  items: Marked[];
  next: string | null;
}

export interface Person {
  known: boolean;
  profile: Profile;
}

export interface Profile {
  posts: number;
  follows: number;
  followers: number;
}

declare module "@evergreen/client" {
  interface Views {
    timeline: { params: { behind?: string | null; until?: string | null }; result: PageChirp };
    profile: { params: { name: string }; result: Person };
    posts: { params: { name: string; behind?: string | null; until?: string | null }; result: PageChirp };
    following: { params: { name: string }; result: boolean };
    follows: { params: { name: string; behind?: string | null }; result: PageMarked };
    followers: { params: { name: string; behind?: string | null }; result: PageMarked };
    people: { params: { prefix: string; behind?: string | null }; result: PageMarked };
  }
  interface Commands {
    "sign-in": { command: { name: string }; result: Named };
    post: { command: { at?: string | null; text: string }; result: void };
    unpost: { command: { at: string }; result: void };
    follow: { command: { name: string }; result: void };
    unfollow: { command: { name: string }; result: void };
  }
}
