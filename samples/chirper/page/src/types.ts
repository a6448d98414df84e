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
    timeline: { params: { count: number }; result: Chirp[] };
    profile: { params: { name: string }; result: Person };
    posts: { params: { name: string; count: number }; result: Chirp[] };
    following: { params: { name: string }; result: boolean };
    follows: { params: { name: string; count: number }; result: Marked[] };
    followers: { params: { name: string; count: number }; result: Marked[] };
    people: { params: { prefix: string; count: number }; result: Marked[] };
  }
  interface Commands {
    "sign-in": { command: { name: string }; result: Named };
    post: { command: { at?: string | null; text: string }; result: void };
    unpost: { command: { at: string }; result: void };
    follow: { command: { name: string }; result: void };
    unfollow: { command: { name: string }; result: void };
  }
}
