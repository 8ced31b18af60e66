//! The pages of a column of a Parquet file, looked at before the library decodes them: what a page claims must not make it take memory without
//! bound, for memory that is not there ends the process, and is no error that could be reported.

use std::sync::{Arc, Mutex, PoisonError};

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

use crate::MAX_ROWS;

/// How many bytes the pages of a file may still unpack to, and why a page was refused.
#[derive(Clone)]
pub(crate) struct Budget(Arc<Mutex<State>>);

struct State {
    left: u64,
    refused: Option<String>,
}

impl Budget {
    pub(crate) fn new(bytes: u64) -> Budget {
        Budget(Arc::new(Mutex::new(State { left: bytes, refused: None })))
    }

    /// Why a page was refused, if one was.
    pub(crate) fn refused(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).refused.clone()
    }

    fn take(&self, page: &Page) -> Result<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left = state.left.checked_sub(page.buffer().len() as u64);
        let refused = match left {
            None => Some("the file unpacks to more bytes than a data set may have".to_owned()),
            Some(_) => misfit(page),
        };
        state.left = left.unwrap_or(0);
        let Some(what) = refused else { return Ok(()) };
        state.refused = Some(what.clone());
        Err(ParquetError::General(what))
    }
}

/// Why a page is not decoded.
fn misfit(page: &Page) -> Option<String> {
    let values = page.num_values() as usize;
    match (page, page.encoding()) {
        // As many values as it claims are made before the first is read.
        (Page::DictionaryPage { buf, .. }, _) if values > buf.len() => {
            Some("a page claims more values than it has; write the file again".into())
        }
        (Page::DictionaryPage { .. }, _) => None,
        _ if values > MAX_ROWS => Some("a page claims more rows than a data set may have".into()),
        // Their data say how many lengths are made, whatever the page claims.
        (_, encoding @ (Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY)) => {
            Some(format!("the encoding {encoding} is not read; write the file with another one"))
        }
        _ => None,
    }
}

/// Pages within a budget.
pub(crate) struct Pages<P> {
    pages: P,
    budget: Budget,
}

impl<P: PageReader> Pages<P> {
    pub(crate) fn new(pages: P, budget: Budget) -> Pages<P> {
        Pages { pages, budget }
    }
}

impl<P: PageReader> Iterator for Pages<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for Pages<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        page.iter().try_for_each(|page| self.budget.take(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}
